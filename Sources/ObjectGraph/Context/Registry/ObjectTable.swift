/// A table of a context's objects by ID, which does not hold them.
///
/// Keys are drawn one after the other, and large results come in their order. So objects are filed in pages of eight
/// neighbours, and pages in blocks of sixteen: going through many of them stays within the processor's cache and looks
/// into the dictionary once in 128 objects, where a plain hash table would be hit all over. An object with no neighbour
/// costs a page of 64 bytes and a block of 128.
struct ObjectTable: ~Copyable {
  private typealias Page = UnsafeMutablePointer<Unmanaged<ManagedObject>?>
  private typealias Block = UnsafeMutablePointer<Page?>
  private static let pageSize = 8
  private static let blockSize = 16

  /// The identity of a block of 128 neighbouring keys.
  private struct BlockID: Hashable {
    let number: Int64
    let root: UInt16

    init(_ id: ManagedObjectID) {
      number = id.key >> 7
      root = id.rootIndex
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(number)
      hasher.combine(root)
    }
  }

  private var blocks: [BlockID: Block] = [:]
  /// The block that was last written to: the next object is often its neighbour.
  private var latest: (id: BlockID, block: Block)?
  private(set) var count = 0

  deinit {
    for block in blocks.values {
      for place in 0..<Self.blockSize { block[place]?.deallocate() }
      block.deallocate()
    }
  }

  var isEmpty: Bool { count == 0 }

  /// The object with that ID, or nil.
  subscript(_ id: ManagedObjectID) -> ManagedObject? {
    block(BlockID(id))?[Self.pagePlace(of: id)]?[Self.place(of: id)]?.takeUnretainedValue()
  }

  /// Adds an object; there must be none with its ID.
  mutating func add(_ object: ManagedObject) {
    let id = object.objectID
    let blockID = BlockID(id)
    let block = block(blockID) ?? makeBlock(blockID)
    latest = (blockID, block)
    let page = block[Self.pagePlace(of: id)] ?? Self.makePage(&block[Self.pagePlace(of: id)])
    page[Self.place(of: id)] = Unmanaged.passUnretained(object)
    count += 1
  }

  /// Removes the object with that ID, if there is one.
  mutating func remove(_ id: ManagedObjectID) {
    let blockID = BlockID(id)
    guard let block = block(blockID), let page = block[Self.pagePlace(of: id)], page[Self.place(of: id)] != nil else {
      return
    }
    latest = (blockID, block)
    page[Self.place(of: id)] = nil
    count -= 1
    guard (0..<Self.pageSize).allSatisfy({ page[$0] == nil }) else { return }
    page.deallocate()
    block[Self.pagePlace(of: id)] = nil
    guard (0..<Self.blockSize).allSatisfy({ block[$0] == nil }) else { return }
    latest = nil
    blocks[blockID] = nil
    block.deallocate()
  }

  mutating func removeAll() { self = ObjectTable() }

  /// All objects.
  var all: [ManagedObject] {
    var all: [ManagedObject] = []
    all.reserveCapacity(count)
    for block in blocks.values {
      for pagePlace in 0..<Self.blockSize {
        guard let page = block[pagePlace] else { continue }
        for place in 0..<Self.pageSize { if let object = page[place] { all.append(object.takeUnretainedValue()) } }
      }
    }
    return all
  }

  @inline(__always)
  private func block(_ id: BlockID) -> Block? {
    if let latest, latest.id.number == id.number, latest.id.root == id.root { return latest.block }
    return blocks[id]
  }

  private mutating func makeBlock(_ id: BlockID) -> Block {
    let block = Block.allocate(capacity: Self.blockSize)
    block.initialize(repeating: nil, count: Self.blockSize)
    blocks[id] = block
    return block
  }

  private static func makePage(_ place: inout Page?) -> Page {
    let page = Page.allocate(capacity: pageSize)
    page.initialize(repeating: nil, count: pageSize)
    place = page
    return page
  }

  private static func pagePlace(of id: ManagedObjectID) -> Int { Int(truncatingIfNeeded: id.key >> 3 & 15) }

  private static func place(of id: ManagedObjectID) -> Int { Int(truncatingIfNeeded: id.key & 7) }
}
