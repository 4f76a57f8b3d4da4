/// The objects of a context by ID; does not hold them.
///
/// Keys are drawn one after the other, and large results come in their order. So objects are filed in pages of
/// neighbours: going through many of them stays within the processor's cache, where a table with a place for each
/// object would be hit all over. An object with no neighbour costs a page of 64 bytes.
struct ObjectTable: ~Copyable {
  private typealias Page = UnsafeMutablePointer<Unmanaged<ManagedObject>?>
  private static let pageSize = 8

  /// Pages by the number that the keys of their objects share.
  private var pages: [PageID: Page] = [:]
  /// The page that was last written to: the next object is often its neighbour.
  private var latest: (id: PageID, page: Page)?
  private(set) var count = 0

  deinit { for page in pages.values { page.deallocate() } }

  var isEmpty: Bool { count == 0 }

  /// The object with that ID, or nil.
  subscript(_ id: ManagedObjectID) -> ManagedObject? {
    page(Self.pageID(of: id))?[Self.place(of: id)]?.takeUnretainedValue()
  }

  /// Files an object; there is none with its ID.
  mutating func add(_ object: ManagedObject) {
    let id = object.objectID
    let pageID = Self.pageID(of: id)
    let page = page(pageID) ?? makePage(pageID)
    latest = (pageID, page)
    page[Self.place(of: id)] = Unmanaged.passUnretained(object)
    count += 1
  }

  /// Takes the object with that ID out, if there is one.
  mutating func remove(_ id: ManagedObjectID) {
    let pageID = Self.pageID(of: id)
    guard let page = page(pageID), page[Self.place(of: id)] != nil else { return }
    latest = (pageID, page)
    page[Self.place(of: id)] = nil
    count -= 1
    if (0..<Self.pageSize).allSatisfy({ page[$0] == nil }) {
      latest = nil
      pages[pageID] = nil
      page.deallocate()
    }
  }

  mutating func removeAll() { self = ObjectTable() }

  /// All objects.
  var all: [ManagedObject] {
    var all: [ManagedObject] = []
    all.reserveCapacity(count)
    for page in pages.values {
      for place in 0..<Self.pageSize { if let object = page[place] { all.append(object.takeUnretainedValue()) } }
    }
    return all
  }

  @inline(__always)
  private func page(_ id: PageID) -> Page? {
    if let latest, latest.id == id { return latest.page }
    return pages[id]
  }

  private mutating func makePage(_ id: PageID) -> Page {
    let page = Page.allocate(capacity: Self.pageSize)
    page.initialize(repeating: nil, count: Self.pageSize)
    pages[id] = page
    return page
  }

  private static func place(of id: ManagedObjectID) -> Int { Int(truncatingIfNeeded: id.key & 7) }

  private static func pageID(of id: ManagedObjectID) -> PageID { PageID(number: id.key >> 3, root: id.rootIndex) }
}

/// Which eight neighbours of a table are meant.
private struct PageID: Hashable {
  let number: Int64
  let root: UInt16

  func hash(into hasher: inout Hasher) {
    hasher.combine(number)
    hasher.combine(root)
  }

  /// Neighbouring pages lie beside each other in a dictionary, 32 at a time, so that going through them does not read
  /// another part of the memory for each. Keys are drawn by stores, so nobody can choose them to collide.
  func _rawHashValue(seed: Int) -> Int {
    // The finalizer of MurmurHash3 for all but the last five bits.
    var bits = UInt64(bitPattern: number >> 5) ^ UInt64(root) << 48 ^ UInt64(truncatingIfNeeded: seed)
    bits = (bits ^ bits >> 33) &* 0xff51_afd7_ed55_8ccd
    bits = (bits ^ bits >> 33) &* 0xc4ce_b9fe_1a85_ec53
    bits ^= bits >> 33
    return Int(truncatingIfNeeded: bits & ~31 | UInt64(bitPattern: number & 31))
  }
}
