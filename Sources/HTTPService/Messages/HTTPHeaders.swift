/// Header fields in their order; names are compared without regard to case.
package struct HTTPHeaders: Equatable, Sendable {
  package struct Field: Equatable, Sendable {
    package let name: String
    package let value: String
  }

  package private(set) var fields: [Field] = []

  package init() {}

  /// The first value of a name; setting replaces all fields of that name, nil removes them.
  package subscript(name: String) -> String? {
    get { fields.first { Self.isEqual($0.name, name) }?.value }
    set {
      fields.removeAll { Self.isEqual($0.name, name) }
      if let newValue { add(name, newValue) }
    }
  }

  /// All values of a name, in their order.
  package func values(of name: String) -> [String] {
    fields.filter { Self.isEqual($0.name, name) }.map(\.value)
  }

  /// Adds a field and keeps earlier ones of that name.
  package mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Field names are ASCII; bit 0x20 is what distinguishes the cases of its letters.
  private static func isEqual(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { add(name, value) }
  }
}
