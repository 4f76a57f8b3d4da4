import Foundation
import ObjectGraph
import Testing

@Suite("Columns of properties")
struct ColumnNameTests {
  private func model(_ elements: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(xml: Data("<model>\(elements)</model>".utf8), file: "test")
  }

  private func attribute(_ name: String, _ type: String = "String") -> String {
    "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type)\"/>"
  }

  private func columns(_ fixture: StoreFixture, _ table: String) throws -> String {
    try SQLiteStoreOpeningTests.sqlite(fixture.url, "SELECT group_concat(name) FROM pragma_table_info('\(table)')")
  }

  @Test("Siblings whose attributes differ in case only keep their values apart, and again after opening")
  func siblings() throws {
    let model = try model(
      """
      <entity name="P" isAbstract="YES">\(attribute("order"))</entity>
      <entity name="A" parentEntity="P">\(attribute("iconUrl"))</entity>
      <entity name="B" parentEntity="P">\(attribute("iconURL"))\(attribute("iconUrl_2"))</entity>
      """)
    let fixture = try StoreFixture(model: model)
    let (a, _) = try fixture.insert("A", ["iconUrl": "of A", "order": "1"])
    let (b, row) = try fixture.insert("B", ["iconURL": "of B", "iconUrl_2": "two"])
    #expect(try columns(fixture, "P") == "_key,_version,_entity,order,iconUrl_3,iconURL,iconUrl_2")
    _ = try fixture.save(try fixture.update(b, row, "B", ["iconURL": "new"]))
    try fixture.store.close()
    fixture.store = try fixture.reopened()
    #expect(try #require(try fixture.stored(a)).text(try fixture.slot("A", "iconUrl")) == "of A")
    #expect(try #require(try fixture.stored(b)).text(try fixture.slot("B", "iconURL")) == "new")
    #expect(try #require(try fixture.stored(b)).text(try fixture.slot("B", "iconUrl_2")) == "two")
  }

  @Test("Names that the store needs for itself are free for properties, and their values come back")
  func reservedNames() throws {
    let model = try model(
      """
      <entity name="_E">\(attribute("_key"))\(attribute("_VERSION"))\(attribute("id"))\(attribute("ID", "Integer 64"))
        \(attribute("pet_entity"))<relationship name="pet" optional="YES" destinationEntity="Pet"/>
        <relationship name="_owner" optional="YES" toMany="YES" destinationEntity="_E"/>
        <relationship name="tags" optional="YES" toMany="YES" destinationEntity="Pet"/>
        <relationship name="TAGS" optional="YES" toMany="YES" destinationEntity="Pet"/></entity>
      <entity name="Pet"/><entity name="Dog" parentEntity="Pet"/>
      """)
    let fixture = try StoreFixture(model: model)
    let (dog, _) = try fixture.insert("Dog")
    let (id, _) = try fixture.insert(
      "_E", ["_key": "k", "_VERSION": "v", "id": "small", "ID": 7, "pet_entity": "mine", "pet": dog])
    let row = try #require(try fixture.stored(id))
    let text = { (name: String) in row.text(try fixture.slot("_E", name)) }
    #expect(try text("_key") == "k" && text("_VERSION") == "v" && text("id") == "small" && text("pet_entity") == "mine")
    #expect(try row.integer(fixture.slot("_E", "ID")) == 7 && row.reference(fixture.slot("_E", "pet")) == dog)
    let clashes = model.joinTables.map(\.name).sorted()
    #expect(clashes == ["_E_TAGS", "_E__owner", "_E_tags_2"])
  }

  @Test("The order of a model's entities and properties decides nothing")
  func order() throws {
    func names(_ elements: [String]) throws -> [String: String] {
      let model = try model(elements.joined())
      return Dictionary(
        uniqueKeysWithValues: model.entities.flatMap { entity in
          entity.properties.map { ("\(entity.name).\($0.name)", $0.columnName) }
        })
    }
    let elements = [
      "<entity name=\"P\"/>", "<entity name=\"A\" parentEntity=\"P\">\(attribute("x"))\(attribute("yY"))</entity>",
      "<entity name=\"B\" parentEntity=\"P\">\(attribute("X"))\(attribute("Yy"))</entity>",
    ]
    #expect(try names(elements) == names(elements.reversed()))
    #expect(try names(elements) == ["A.x": "x_2", "A.yY": "yY_2", "B.X": "X", "B.Yy": "Yy"])
  }

  @Test("A sibling that takes a name in another case moves the column and keeps the values")
  func migration() throws {
    let old = "<entity name=\"P\"/><entity name=\"A\" parentEntity=\"P\">\(attribute("iconUrl"))</entity>"
    let fixture = try StoreFixture(model: try model(old))
    let (a, _) = try fixture.insert("A", ["iconUrl": "of A"])
    try fixture.store.close()
    let new = try model(old + "<entity name=\"B\" parentEntity=\"P\">\(attribute("iconURL"))</entity>")
    let store = try PersistentStoreDescription.sqlite(at: fixture.url).open(new, StoreFixture.ordinal)
    let property = try #require(new.entitiesByName["A"]?.property(named: "iconUrl"))
    #expect(property.columnName == "iconUrl_2")
    #expect(try store.read { try $0.row(for: a) }?.row.text(property.slot) == "of A")
  }

  @Test("Old models get their indexes, one each, also in a store that was made without them")
  func oldIndexes() throws {
    let plain =
      "<entity name=\"E\">\(attribute("a"))\(attribute("b"))"
      + "<relationship name=\"one\" optional=\"YES\" destinationEntity=\"E\" inverseName=\"many\"/>"
      + "<relationship name=\"many\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"E\" inverseName=\"one\"/>"
    let fixture = try StoreFixture(model: try model(plain + "</entity>"))
    try fixture.store.close()
    let old =
      plain.replacing("optional", with: "indexed=\"YES\" optional")
      + "<compoundIndexes><compoundIndex><index value=\"a\"/><index value=\"b\"/></compoundIndex></compoundIndexes></entity>"
    let store = try PersistentStoreDescription.sqlite(at: fixture.url).open(try model(old), 1)
    try store.close()
    let indexes = try SQLiteStoreOpeningTests.sqlite(
      fixture.url, "SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name)")
    #expect(indexes == "_fetch_E.byABIndex,_fetch_E.byAIndex,_fetch_E.byBIndex,_index_E.one")
  }
}
