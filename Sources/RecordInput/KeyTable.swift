import Glibc

/// The keys of JSON objects and the columns that their values go into.
///
/// A key is a node below the object that it is in. Records of one origin mostly have the same keys in the same order, so
/// a key is first compared with the one that followed last time, and looked up by its hash otherwise.
struct KeyTable: ~Copyable {
  struct Node {
    fileprivate let parent: Int
    fileprivate let keyStart: Int
    fileprivate let keyLength: Int
    /// The key that came next in the record before; -1 at first.
    var follower = -1
    /// The first key of the object that is this key's value, in the record before.
    var firstChild = -1
    /// -1 for none.
    var column = -1
    /// True if columns are looked for inside this key's value.
    var hasChildren = false
  }

  static let root = 0

  private(set) var nodes: UnsafeMutablePointer<Node>
  private var count = 1
  private var capacity = 16
  private var keys: UnsafeMutablePointer<UInt8>
  private var keysSize = 0
  private var keysCapacity = 256
  /// Open addressing; -1 is a free place.
  private var places: UnsafeMutablePointer<Int32>
  private var placeCount = 64

  init() {
    nodes = .allocate(capacity: capacity)
    nodes.initialize(to: Node(parent: -1, keyStart: 0, keyLength: 0))
    keys = .allocate(capacity: keysCapacity)
    places = .allocate(capacity: placeCount)
    places.initialize(repeating: -1, count: placeCount)
  }

  deinit {
    nodes.deallocate()
    keys.deallocate()
    places.deallocate()
  }

  /// True if `node` is the key.
  @inline(__always)
  func isKey(_ key: UnsafeRawBufferPointer, at node: Int) -> Bool {
    guard nodes[node].keyLength == key.count, let bytes = key.baseAddress else { return false }
    return memcmp(keys + nodes[node].keyStart, bytes, key.count) == 0
  }

  /// The node of a key, or -1.
  func find(_ key: UnsafeRawBufferPointer, in parent: Int) -> Int {
    var place = Self.hash(key, parent) & (placeCount - 1)
    while places[place] >= 0 {
      let node = Int(places[place])
      if nodes[node].parent == parent, isKey(key, at: node) { return node }
      place = (place + 1) & (placeCount - 1)
    }
    return -1
  }

  /// The node of a key, made if there is none.
  mutating func insert(_ key: UnsafeRawBufferPointer, in parent: Int) -> Int {
    let existing = find(key, in: parent)
    if existing >= 0 { return existing }
    if count == capacity { growNodes() }
    if keysSize + key.count > keysCapacity { growKeys(by: key.count) }
    if let bytes = key.baseAddress { memcpy(keys + keysSize, bytes, key.count) }
    (nodes + count).initialize(to: Node(parent: parent, keyStart: keysSize, keyLength: key.count))
    keysSize += key.count
    count += 1
    if 2 * count > placeCount { growPlaces() } else { enter(count - 1) }
    return count - 1
  }

  /// The keys that lead to a node, with points between them.
  func path(to node: Int) -> String {
    let key = String(
      decoding: UnsafeRawBufferPointer(start: keys + nodes[node].keyStart, count: nodes[node].keyLength), as: UTF8.self)
    return nodes[node].parent == Self.root ? key : path(to: nodes[node].parent) + "." + key
  }

  private func enter(_ node: Int) {
    let key = UnsafeRawBufferPointer(start: keys + nodes[node].keyStart, count: nodes[node].keyLength)
    var place = Self.hash(key, nodes[node].parent) & (placeCount - 1)
    while places[place] >= 0 { place = (place + 1) & (placeCount - 1) }
    places[place] = Int32(node)
  }

  /// FNV-1a, with the object's node in front of the key.
  private static func hash(_ key: UnsafeRawBufferPointer, _ parent: Int) -> Int {
    var hash = (0xCBF2_9CE4_8422_2325 ^ UInt64(parent)) &* 0x100_0000_01B3
    for byte in key { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return Int(truncatingIfNeeded: hash >> 16)
  }

  private mutating func growNodes() {
    let larger = UnsafeMutablePointer<Node>.allocate(capacity: 2 * capacity)
    larger.moveInitialize(from: nodes, count: count)
    nodes.deallocate()
    nodes = larger
    capacity *= 2
  }

  private mutating func growKeys(by size: Int) {
    keysCapacity = 2 * (keysCapacity + size)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: keysCapacity)
    memcpy(larger, keys, keysSize)
    keys.deallocate()
    keys = larger
  }

  private mutating func growPlaces() {
    places.deallocate()
    placeCount *= 4
    places = .allocate(capacity: placeCount)
    places.initialize(repeating: -1, count: placeCount)
    for node in 1..<count { enter(node) }
  }
}
