import Foundation
import ObjectGraph
import StoreTesting
import Testing

@Suite("Migrating numbers from type to type", .onEachStore)
struct NumberMigrationTests {
  static let numbers: [AttributeType] = [.boolean, .integer16, .integer32, .integer64, .float, .double, .decimal]

  private static func item(_ type: AttributeType) -> [EntityDescription] {
    [EntityDescription("Item", attributes: [AttributeDescription("n", type), AttributeDescription("name", .string)])]
  }

  /// Values of each type that each other type may or may not have.
  static func samples(_ type: AttributeType) -> [Value] {
    switch type {
    case .boolean: [true, false]
    case .integer16: [0, 1, -1, 32_767, -32_768]
    case .integer32: [0, 1, 32_768, -32_769, 16_777_217, .integer(Int64(Int32.min))]
    case .integer64: [0, 1, 2_147_483_648, 9_007_199_254_740_993, .integer(.max), .integer(.min)]
    case .float:
      [0.0, 1.0, -1.5, .double(Double(Float(0.1))), 16_777_216.0, .double(Double(Float.greatestFiniteMagnitude))]
    case .double: [0.0, 1.0, 0.1, 2.5, 9_007_199_254_740_992.0, 1e300, 1e-300, 9.3e18]
    case .decimal:
      ["0", "1", "0.1", "-2.5", "12345678901234567890.12", "9223372036854775807", "1e60"].map {
        .decimal(Decimal(string: $0) ?? 0)
      }
    default: []
    }
  }

  /// What a value is as one of another type, told by Foundation and the standard library; nil if that is no such value.
  static func expected(_ value: Value, _ source: AttributeType, _ target: AttributeType) -> Value? {
    let decimal: Decimal
    switch value {
    case .boolean(let isTrue): decimal = isTrue ? 1 : 0
    case .integer(let number):
      if target == .double { return Double(exactly: number).map(Value.double) }
      if target == .float { return Float(exactly: number).map { .double(Double($0)) } }
      decimal = Decimal(number)
    case .double(let number):
      if target == .double { return value }
      if target == .float { return Double(Float(number)) == number ? value : Value?.none }
      if target != .decimal { return Int64(exactly: number).flatMap { expected(.integer($0), .integer64, target) } }
      let text = source == .float ? "\(Float(number))" : "\(number)"
      guard let read = Decimal(string: text), Double("\(read)") == Double(text) else { return nil }
      return .decimal(read)
    case .decimal(let number): decimal = number
    default: return nil
    }
    let text = "\(decimal)"
    switch target {
    case .boolean: return text == "0" ? .boolean(false) : text == "1" ? .boolean(true) : Value?.none
    case .integer16: return Int16(text).map { .integer(Int64($0)) }
    case .integer32: return Int32(text).map { .integer(Int64($0)) }
    case .integer64: return Int64(text).map { .integer($0) }
    case .double: return Double(text).flatMap { Decimal(string: "\($0)") == decimal ? .double($0) : Value?.none }
    case .float: return Float(text).flatMap { Decimal(string: "\($0)") == decimal ? .double(Double($0)) : Value?.none }
    default: return .decimal(decimal)
    }
  }

  @Test(
    "Each value of each number type becomes the same number of each other type, or keeps the store as it is",
    arguments: numbers, numbers)
  func everyPair(source: AttributeType, target: AttributeType) throws {
    let values = Self.samples(source)
    for value in values {
      let fixture = try MigrationFixture()
      try fixture.with(Self.item(source)) { context in
        context.insert("Item", ["name": "x"]).setValue(value.unwrapped, forKey: "n")
        _ = context.insert("Item", ["name": "nil"])
      }
      let comment: Comment = "\(value) as \(target.rawValue)"
      if let expected = Self.expected(value, source, target) {
        #expect(throws: Never.self, comment) {
          try fixture.with(Self.item(target)) { context in
            let found = try context.all("Item").map { $0[attribute: "n"] }
            #expect(found == [expected, .null], comment)
          }
        }
      } else {
        let error = #expect(throws: StoreError.self, comment) { try fixture.with(Self.item(target)) { _ in } }
        #expect(error?.message.contains("Item.n was \(source.rawValue) and is \(target.rawValue) now") == true)
        #expect(error?.message.contains("1 object (key 1)") == true, "\(error?.message ?? "")")
      }
    }
  }

  @Test("A refused conversion names all rows that are in the way, and leaves the store as it is")
  func refusal() throws {
    let fixture = try MigrationFixture()
    try fixture.with(Self.item(.double)) { context in
      for number in [1, 2.5, 3, 4.5, 5.5, 6.5] { _ = context.insert("Item", ["n": number]) }
    }
    let error = #expect(throws: StoreError.self) { try fixture.with(Self.item(.integer32)) { _ in } }
    #expect(error?.message.contains("4 objects (keys 2, 4, 5, ...)") == true, "\(error?.message ?? "")")
    try fixture.with(Self.item(.double)) { context in
      let found = try context.all("Item").map { $0[attribute: "n"] }
      #expect(found == [1.0, 2.5, 3.0, 4.5, 5.5, 6.5])
    }
  }

  @Test("A number that is renamed, inherited, required and unique is converted as any other")
  func withOtherChanges() throws {
    let fixture = try MigrationFixture()
    func model(_ later: Bool) -> [EntityDescription] {
      var number = AttributeDescription(later ? "muted" : "isMuted", later ? .integer32 : .boolean)
      if later { (number.renamingIdentifier, number.isOptional, number.defaultValue) = ("isMuted", false, 2) }
      var code = AttributeDescription("code", later ? .decimal : .integer64)
      code.renamingIdentifier = "code"
      var base = EntityDescription("Base", attributes: [number, code])
      base.uniquenessConstraints = [["code"]]
      return [base, EntityDescription("Talk", parent: "Base", attributes: [AttributeDescription("name", .string)])]
    }
    try fixture.with(model(false)) { context in
      _ = context.insert("Talk", ["isMuted": true, "name": "a", "code": 1])
      _ = context.insert("Talk", ["name": "b", "code": 2])
      _ = context.insert("Base", ["isMuted": false, "code": Int64.max])
    }
    try fixture.with(model(true)) { context in
      let all = try context.all("Base")
      #expect(all.map { $0[attribute: "muted"] } == [1, 2, 0])
      #expect(all.map { $0[attribute: "code"] } == [.decimal(1), .decimal(2), .decimal(Decimal(Int64.max))])
      let names = try context.all("Talk").map { $0[attribute: "name"] }
      #expect(names == ["a", "b"])
    }
  }
}
