import Foundation
import ObjectGraph
import PostgresTesting
import StoreTesting
import Testing

@Suite("Views for other programs", .onEachStore)
struct ViewTests {
  private static let name = AttributeDescription("name", .string)

  @Test("Dates are moments, decimals numbers, UUIDs text, and a family's views have the objects of their kinds")
  func values() throws {
    var photo = AttributeDescription("photo", .binary)
    photo.allowsExternalBinaryDataStorage = true
    let person = EntityDescription(
      "Person",
      attributes: [
        Self.name, AttributeDescription("born", .date), AttributeDescription("wealth", .decimal),
        AttributeDescription("identity", .uuid), AttributeDescription("isMember", .boolean),
        AttributeDescription("page", .uri), AttributeDescription("score", .double), photo,
      ],
      relationships: [RelationshipDescription("owns", to: "Vehicle", inverse: "owner", isToMany: true)])
    var vehicle = EntityDescription(
      "Vehicle", attributes: [AttributeDescription("wheels", .integer16)],
      relationships: [RelationshipDescription("owner", to: "Person", inverse: "owns")])
    vehicle.isAbstract = true
    let car = EntityDescription("Car", parent: "Vehicle", attributes: [AttributeDescription("doors", .integer16)])
    let bus = EntityDescription("Bus", parent: "Car")
    let bike = EntityDescription(
      "Bike", parent: "Vehicle", relationships: [RelationshipDescription("rival", to: "Vehicle")])
    let fixture = try MigrationFixture()
    let identity = try #require(UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E"))
    try fixture.with([person, vehicle, car, bus, bike]) { context in
      let ada = context.insert(
        "Person",
        [
          "name": "Ada", "born": Date(timeIntervalSince1970: -4_806_086_399.5), "wealth": Decimal(string: "10.50")!,
          "identity": identity, "isMember": true, "page": URL(string: "https://example.org")!, "score": 0.5,
          "photo": Data([1, 2]),
        ])
      _ = context.insert("Person", ["name": "Nobody"])
      let car = context.insert("Car", ["wheels": 4, "doors": 5])
      let bus = context.insert("Bus", ["wheels": 6])
      let bike = context.insert("Bike", ["wheels": 2])
      for object in [car, bus, bike] { object.setValue(ada, forKey: "owner") }
      bike.setValue(bus, forKey: "rival")
    }
    let isSQLite = SQLStore.current == .sqlite
    #expect(
      try fixture.query(
        "SELECT born, wealth + 1, identity, \"isMember\", page, score, name FROM <Person> ORDER BY name")
        == (isSQLite ? "1817-09-14T00:00:00.500Z|11.5" : "1817-09-14 00:00:00.5+00|11.5")
        + "|0f8fad5b-d9cb-469f-a165-70867728950e|\(isSQLite ? "1" : "t")|https://example.org|0.5|Ada\n||||||Nobody")
    #expect(try fixture.query("SELECT wheels FROM <Vehicle> ORDER BY 1") == "2\n4\n6")
    #expect(try fixture.query("SELECT _entity, wheels, doors FROM <Car> ORDER BY 2") == "Car|4|5\nBus|6|")
    #expect(try fixture.query("SELECT _entity FROM <Bus>") == "Bus")
    #expect(
      try fixture.query("SELECT b.rival_entity, p.name FROM <Bike> b JOIN <Person> p ON p._key = b.owner") == "Bus|Ada")
    let size = try fixture.query("SELECT length(photo) FROM <Person> WHERE name = 'Ada'")
    #expect(size == "2")
  }

  @Test("They come to a store that has none, follow its model, and stay right for whoever opens it")
  func following() throws {
    let fixture = try MigrationFixture()
    let pet = EntityDescription("Pet", attributes: [Self.name])
    var options = MigrationFixture.Options()
    options.makesViews = false
    try fixture.with([EntityDescription("Person", attributes: [Self.name]), pet], options: options) { context in
      _ = context.insert("Person", ["name": "Ada"])
    }
    #expect(try fixture.views() == [])
    try fixture.with([EntityDescription("Person", attributes: [Self.name]), pet]) { _ in }
    #expect(try fixture.views() == ["_view_Person", "_view_Pet"])
    #expect(try fixture.query("SELECT name FROM <Person>") == "Ada")

    var title = AttributeDescription("title", .string)
    title.renamingIdentifier = "name"
    let renamed = EntityDescription("Person", attributes: [title, AttributeDescription("born", .date)])
    try fixture.with([renamed], options: options) { context in
      try context.all("Person").first?.setValue(Date(timeIntervalSinceReferenceDate: 0), forKey: "born")
    }
    #expect(try fixture.views() == ["_view_Person"])
    let row = try fixture.query("SELECT title, born FROM <Person>")
    #expect(row == (SQLStore.current == .sqlite ? "Ada|2001-01-01T00:00:00.000Z" : "Ada|2001-01-01 00:00:00+00"))
  }

  @Test("A view never has the name of a table")
  func names() throws {
    let fixture = try MigrationFixture()
    let first = EntityDescription("_view_Order", attributes: [Self.name])
    try fixture.with([first, EntityDescription("Order", attributes: [Self.name])]) { context in
      _ = context.insert("_view_Order", ["name": "table"])
      _ = context.insert("Order", ["name": "view"])
    }
    #expect(try fixture.views() == ["_view_Order_2", "_view__view_Order"])
    #expect(try fixture.query("SELECT name FROM <Order_2>") == "view")
    #expect(try fixture.query("SELECT name FROM <_view_Order>") == "table")
  }

  @Test("A date that the database can't show as a moment spoils no other row")
  func farDates() throws {
    let fixture = try MigrationFixture()
    try fixture.with([EntityDescription("Event", attributes: [Self.name, AttributeDescription("time", .date)])]) {
      _ = $0.insert("Event", ["name": "far", "time": Date(timeIntervalSinceReferenceDate: 1e15)])
      _ = $0.insert("Event", ["name": "near", "time": Date(timeIntervalSinceReferenceDate: 1)])
    }
    let rows = try fixture.query("SELECT name, time FROM <Event> ORDER BY name")
    let expected =
      SQLStore.current == .sqlite ? "far|1.0e+15\nnear|2001-01-01T00:00:01.000Z" : "far|\nnear|2001-01-01 00:00:01+00"
    #expect(rows == expected)
  }
}
