/// The objects of a context by ID; does not hold them.
///
/// Keys are drawn one after the other, and large results come in their order. So objects are filed in pages of
/// neighbours: going through many of them stays within the processor's cache, where a table with a place for each
/// object would be hit all over. An object with no neighbour costs a page of 64 bytes.
struct ObjectTable {
  private typealias Page = InlineArray<8, Unmanaged<ManagedObject>?>

  /// Pages by the ID that the first object of each has or would have.
  private var pages: [ManagedObjectID: Page] = [:]
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The object with that ID, or nil.
  subscript(_ id: ManagedObjectID) -> ManagedObject? {
    pages[Self.page(of: id)]?[Self.place(of: id)]?.takeUnretainedValue()
  }

  /// Files an object; there is none with its ID.
  mutating func add(_ object: ManagedObject) {
    let id = object.objectID
    pages[Self.page(of: id), default: Page(repeating: nil)][Self.place(of: id)] = Unmanaged.passUnretained(object)
    count += 1
  }

  /// Takes the object with that ID out, if there is one.
  mutating func remove(_ id: ManagedObjectID) {
    guard let index = pages.index(forKey: Self.page(of: id)), pages.values[index][Self.place(of: id)] != nil else {
      return
    }
    pages.values[index][Self.place(of: id)] = nil
    count -= 1
    if pages.values[index].isEmpty { pages.remove(at: index) }
  }

  mutating func removeAll() { self = ObjectTable() }

  /// Makes room for that many neighbours.
  mutating func reserveCapacity(_ count: Int) { pages.reserveCapacity(count / 8 + 1) }

  /// All objects.
  var all: [ManagedObject] {
    var all: [ManagedObject] = []
    all.reserveCapacity(count)
    for page in pages.values {
      for place in page.indices { if let object = page[place] { all.append(object.takeUnretainedValue()) } }
    }
    return all
  }

  private static func place(of id: ManagedObjectID) -> Int { Int(truncatingIfNeeded: id.key & 7) }

  private static func page(of id: ManagedObjectID) -> ManagedObjectID {
    ManagedObjectID(
      key: id.key & ~7, entityIndex: id.rootIndex, rootIndex: id.rootIndex,
      coordinatorOrdinal: id.coordinatorOrdinal)
  }
}

extension InlineArray<8, Unmanaged<ManagedObject>?> {
  fileprivate var isEmpty: Bool {
    for place in indices where self[place] != nil { return false }
    return true
  }
}
