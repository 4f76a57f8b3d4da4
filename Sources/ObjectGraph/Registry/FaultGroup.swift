/// A group of faults without values: firing one reads the rows of all of them in one statement.
///
/// It names objects without holding them; those that are gone or have values by then are skipped.
final class FaultGroup {
  /// The number of faults read together, unless a fetch request says otherwise.
  ///
  /// A hundred rows cost hardly more than one, since most of the time goes into the statement; many more would make the
  /// reader of one object wait for rows that nobody asked for.
  static let defaultSize = 64

  private(set) var ids: [ManagedObjectID] = []
  let size: Int

  init(size: Int = FaultGroup.defaultSize) { self.size = size }

  var isFull: Bool { ids.count >= size }

  func add(_ id: ManagedObjectID) { ids.append(id) }
}
