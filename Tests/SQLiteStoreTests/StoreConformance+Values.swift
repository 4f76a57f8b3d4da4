import Foundation
import ObjectGraph
import Testing

extension StoreConformance {
  static let values: [(property: String, value: any Sendable)] = [
    ("name", ""), ("name", "a\u{0}b"), ("name", "👩‍👩‍👧‍👦 Grüße"), ("name", String(repeating: "x", count: 100_000)),
    ("age", Int64.min), ("age", Int64.max), ("age", Int64(0)), ("score", -0.0), ("score", Double.infinity),
    ("score", Double.leastNonzeroMagnitude), ("score", 0.1 + 0.2), ("isMember", true), ("isMember", false),
    ("born", 800_000_000.125),
    ("wealth", "123456789012345.678901234567890"), ("identity", UUID()), ("page", "https://example.org/?q=%20"),
    ("icon", Data()), ("icon", Data([0, 255, 0])), ("photo", Data()), ("photo", Data([1, 2, 3])),
    ("photo", Data(count: 5_000_000)), ("icon", Data(repeating: 7, count: 5_000_000)),
  ]

  @Test("gives back every value as it was saved", arguments: StoreKind.allCases, values.indices)
  func roundTrip(kind: StoreKind, index: Int) throws {
    let fixture = try StoreFixture(kind)
    let (property, value) = Self.values[index]
    if let text = value as? String, text.contains("\u{0}"), !kind.keepsZeroInTexts {
      let error = #expect(throws: StoreError.self) { try fixture.insert("Person", [property: value]) }
      #expect(error?.message.contains("Person.\(property)") == true)
      return
    }
    let (id, _) = try fixture.insert("Person", [property: value])
    let row = try #require(try fixture.stored(id))
    let slot = try fixture.slot("Person", property)
    for other in try fixture.entity("Person").properties where other.storage != .toMany && other.slot != slot {
      #expect(row.isNull(other.slot), "\(other.name)")
    }
    #expect(!row.isNull(slot))
    switch value {
    case let value as String: #expect(row.text(slot) == value)
    case let value as Int64: #expect(row.integer(slot) == value)
    case let value as Bool: #expect(row.integer(slot) == (value ? 1 : 0))
    case let value as Double: #expect(row.real(slot) == value)
    case let value as UUID: #expect(row.uuid(slot) == value)
    case let value as Data:
      #expect(row.blob(slot).byteCount == value.count)
      #expect(try row.blob(slot).load() == value)
    default: Issue.record("no check for \(value)")
    }
  }

  @Test("keeps NaN as nil, since SQL has no such number", arguments: StoreKind.allCases)
  func notANumber(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (id, _) = try fixture.insert("Person", ["score": Double.nan])
    #expect(try fixture.stored(id)?.isNull(try fixture.slot("Person", "score")) == true)
  }

  @Test("sets values back to nil", arguments: StoreKind.allCases)
  func backToNil(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (company, _) = try fixture.insert("Company", ["name": "ACME"])
    let values: [String: Any] = [
      "name": "Ada", "age": 36, "photo": Data([1]), "employer": company, "identity": UUID(),
    ]
    let (id, base) = try fixture.insert("Person", values)
    #expect(try fixture.stored(id)?.reference(try fixture.slot("Person", "employer")) == company)
    var row = base
    for name in values.keys { row.setNull(try fixture.slot("Person", name)) }
    #expect(try fixture.save(RowChange(.update, id, row: row, base: base)).conflicts.isEmpty)
    let stored = try #require(try fixture.stored(id))
    for name in values.keys { #expect(stored.isNull(try fixture.slot("Person", name)), "\(name)") }
  }

  @Test("takes the contents of a staged file over", arguments: StoreKind.allCases)
  func stagedFile(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let folder = fixture.store.stagingDirectory ?? fixture.folder.path
    let path = folder + "/staged"
    let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
    try content.write(to: URL(fileURLWithPath: path))
    let (id, row) = try fixture.insert("Person", ["photo": Blob(stagedFile: path, byteCount: content.count)])
    let slot = try fixture.slot("Person", "photo")
    #expect(try fixture.stored(id)?.blob(slot).load() == content)
    // The row that was saved still leads to the bytes.
    #expect(try row.blob(slot).load() == content)
  }
}
