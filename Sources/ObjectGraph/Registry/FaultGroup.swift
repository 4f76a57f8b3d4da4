/// Faults without values that will be read together: firing one reads the rows of all of them in one statement.
///
/// It names objects and does not hold them; those that are gone or have values by then are passed over.
final class FaultGroup {
  /// How many faults are read together unless a fetch request says otherwise.
  ///
  /// A hundred rows cost hardly more than one, since most of the time goes into the statement; many more would make
  /// whoever wants one object wait for what nobody asked for.
  static let defaultSize = 64

  private(set) var ids: [ManagedObjectID] = []
  let size: Int

  init(size: Int = FaultGroup.defaultSize) { self.size = size }

  var isFull: Bool { ids.count >= size }

  func add(_ id: ManagedObjectID) { ids.append(id) }
}
