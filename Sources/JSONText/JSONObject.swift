/// The members of a JSON object in their order.
///
/// Objects are equal if they have the same members in the same order. As for any String, keys that differ only in how
/// accented characters are composed are the same key.
///
/// - Complexity: Looking a key up compares up to 32 keys; a larger object keeps a table of them.
public struct JSONObject: Sendable {
  struct Member: Sendable, Hashable {
    let key: String
    var value: JSONValue
  }

  // Most objects are small, and comparing short keys costs less than hashing one.
  private static let largestWithoutTable = 32

  private(set) var members: [Member] = []
  // The index of each key's member; empty up to the size above.
  private var table: [String: Int] = [:]

  /// An object without members.
  public init() {}

  /// The keys in their order.
  public var keys: [String] { members.map(\.key) }

  /// The value of a key; assigning nil removes the member, a new key comes last.
  ///
  /// - Complexity: Removing is linear.
  public subscript(key: String) -> JSONValue? {
    get { index(of: key).map { members[$0].value } }
    set {
      switch (index(of: key), newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): remove(at: index)
      case (nil, let value?): appendNew(key, value)
      case (nil, nil): break
      }
    }
  }

  func index(of key: String) -> Int? {
    guard table.isEmpty else { return table[key] }
    for index in members.indices where members[index].key == key { return index }
    return nil
  }

  /// Appends a member whose key isn't there yet.
  mutating func appendNew(_ key: String, _ value: JSONValue) {
    members.append(Member(key: key, value: value))
    if !table.isEmpty {
      table[key] = members.count - 1
    } else if members.count > Self.largestWithoutTable {
      makeTable()
    }
  }

  mutating func replaceValue(at index: Int, with value: JSONValue) {
    members[index].value = value
  }

  private mutating func remove(at index: Int) {
    members.remove(at: index)
    table = [:]
    if members.count > Self.largestWithoutTable { makeTable() }
  }

  private mutating func makeTable() {
    table.reserveCapacity(members.count * 2)
    for (index, member) in members.enumerated() { table[member.key] = index }
  }
}

extension JSONObject: Hashable {
  /// Whether both have the same members in the same order.
  public static func == (left: Self, right: Self) -> Bool { left.members == right.members }

  /// The hash of the members.
  public func hash(into hasher: inout Hasher) { hasher.combine(members) }
}

extension JSONObject: RandomAccessCollection {
  /// 0.
  public var startIndex: Int { 0 }

  /// The number of members.
  public var endIndex: Int { members.count }

  /// The member at a place, in the order of the text.
  public subscript(position: Int) -> (key: String, value: JSONValue) {
    (members[position].key, members[position].value)
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// Keeps the order.
  ///
  /// - Precondition: No key occurs twice.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self.init(literal: elements)
  }

  init(literal elements: [(String, JSONValue)]) {
    members.reserveCapacity(elements.count)
    for (key, value) in elements {
      precondition(index(of: key) == nil, "the key \"\(key)\" occurs twice in a literal")
      appendNew(key, value)
    }
  }
}
