import Foundation
import ObjectGraph
import ObjectModel
import PostgresTesting
import StoreCopy
import TestSupport
import Testing

/// A folder for SQLite stores and a database for one in PostgreSQL.
final class CopyFixture {
  let folder: TemporaryDirectory
  let database: TestDatabase

  init() throws {
    folder = try TemporaryDirectory()
    database = try PostgresCluster.makeDatabase()
  }

  var postgres: StoreAddress { .postgres(database.url) }

  func sqlite(_ name: String) -> StoreAddress { .sqlite(folder.path(name + ".sqlite")) }

  /// Opens a store, runs the body in a context, saves and closes.
  @discardableResult
  func with<Result: Sendable>(
    _ address: StoreAddress, _ model: ManagedObjectModel, tracksHistory: Bool = false,
    _ body: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) throws -> Result {
    let coordinator = PersistentStoreCoordinator(model: model)
    switch address {
    case .sqlite(let path):
      var options = SQLiteStoreOptions()
      options.tracksHistory = tracksHistory
      options.externalDataThreshold = 1_000
      try coordinator.open(.sqlite(at: URL(fileURLWithPath: path), options: options))
    case .postgres(let url):
      var options = PostgresStoreOptions()
      options.noticesOtherWriters = false
      options.externalDataThreshold = 1_000
      try coordinator.open(.postgresql(url: url, options: options))
    }
    defer { try? coordinator.close() }
    return try ManagedObjectContext(coordinator: coordinator).performAndWait { context in
      let result = try body(context)
      try context.save()
      return result
    }
  }

  /// Everything that objects of a store have, a text each, in the order of entities and keys.
  func objects(_ address: StoreAddress, _ model: ManagedObjectModel) throws -> [String] {
    try with(address, model) { context in
      try context.coordinator.checkInvariants()
      var texts: [String] = []
      for root in model.entities where root.parent == nil {
        let objects = try context.fetch(FetchRequest<ManagedObject>(entity: root.name, nil))
        for object in objects.sorted(by: { $0.objectID.key < $1.objectID.key }) {
          texts.append(Self.text(of: object))
        }
      }
      return texts
    }
  }

  private static func text(of object: ManagedObject) -> String {
    func name(_ object: ManagedObject) -> String { "\(object.entity.name) \(object.objectID.key)" }
    let values = object.entity.properties.filter { !$0.isHidden }.map { property -> String in
      if property.attribute != nil {
        let value = object[attribute: property.name] ?? .null
        if case .data(let data) = value { return "\(property.name)=\(data.count):\(data.hashValue)" }
        if case .double(let number) = value { return "\(property.name)=\(number)" }
        if case .date(let date) = value { return "\(property.name)=\(date.timeIntervalSinceReferenceDate)" }
        return "\(property.name)=\(value)"
      }
      let value = object.value(forKey: property.name)
      let names =
        (value as? [ManagedObject])?.map(name) ?? (value as? Set<ManagedObject>)?.map(name).sorted()
        ?? (value as? ManagedObject).map { [name($0)] } ?? []
      return "\(property.name)=[\(names.joined(separator: ", "))]"
    }
    return "\(name(object)): \(values.joined(separator: "; "))"
  }
}

/// Objects with everything that a store can hold.
enum Museum {
  static func model() throws -> ManagedObjectModel {
    let types = AttributeType.allCases.filter { $0 != .undefined && $0 != .transformable }
    var attributes = types.map { AttributeDescription(attribute($0), $0) }
    var scan = AttributeDescription("scan", .binary)
    scan.allowsExternalBinaryDataStorage = true
    attributes.append(scan)
    var thing = EntityDescription("Thing", attributes: attributes)
    thing.uniquenessConstraints = [[attribute(.integer64)]]
    thing.fetchIndexes = [.init(name: "byText", elements: [.init(property: attribute(.boolean))])]
    thing.relationships = [
      RelationshipDescription("box", to: "Box", inverse: "contents"),
      RelationshipDescription("tags", to: "Tag", inverse: "things", isToMany: true),
      RelationshipDescription("friends", to: "Thing", inverse: "friends", isToMany: true),
    ]
    thing.relationships[1].isOrdered = true
    var photo = EntityDescription("Photo", attributes: [AttributeDescription("size", .integer64)])
    var note = EntityDescription("Note", attributes: [AttributeDescription("size", .string)])
    (photo.parent, note.parent) = ("Thing", "Thing")
    var box = EntityDescription("Box")
    box.relationships = [RelationshipDescription("contents", to: "Thing", inverse: "box", isToMany: true)]
    box.relationships[0].isOrdered = true
    let long = String(repeating: "long", count: 20)
    var tag = EntityDescription("Tag", attributes: [AttributeDescription(long, .string)])
    tag.relationships = [
      RelationshipDescription("things", to: "Thing", inverse: "tags", isToMany: true),
      RelationshipDescription("favourite", to: "Thing"),
      RelationshipDescription("others", to: "Tag", isToMany: true),
    ]
    tag.relationships[0].isOrdered = true
    return try ManagedObjectModel([thing, photo, note, box, tag])
  }

  static func attribute(_ type: AttributeType) -> String { "a" + type.rawValue.filter { $0 != " " } }

  /// Values at the ends of what each type holds.
  private static let values: [AttributeType: [any Sendable]] = [
    .integer16: [Int64(Int16.min), Int64(Int16.max)], .integer32: [Int64(Int32.min), Int64(Int32.max)],
    .double: [
      Double.infinity, -Double.infinity, -0.0, Double.leastNonzeroMagnitude, Double.greatestFiniteMagnitude,
      0.1 + 0.2, 12345678.0,
    ],
    .float: [Double(Float.greatestFiniteMagnitude), 1.5], .boolean: [true, false],
    .decimal: [
      Decimal(string: "12345678901234567890123456789012345678")!, Decimal(string: "-0.00000000000000000001")!,
      Decimal(0), Decimal(string: "1e100")!,
    ],
    .string: ["", "emoji 👩‍👩‍👧‍👦", "e\u{301}", "line\nbreak\ttab \\ ' \"", String(repeating: "ß", count: 50_000)],
    .date: [Date(timeIntervalSinceReferenceDate: -99_999_999_999.125), Date(timeIntervalSinceReferenceDate: 0.25)],
    .binary: [Data(), Data([0, 255, 0]), Data(repeating: 7, count: 5_000)], .uuid: [UUID(), UUID()],
    .uri: [URL(string: "https://example.org/?q=%20")!],
  ]

  static func fill(_ context: isolated ManagedObjectContext, count: Int = 60) {
    var things: [ManagedObject] = []
    let longs: [Int64] = [.min, .max, 0]
    for number in 0..<count {
      let thing = context.insertObject(ofEntity: ["Thing", "Photo", "Note"][number % 3])
      thing.setValue(number < 3 ? longs[number] : Int64(number) * 1_000, forKey: attribute(.integer64))
      for (type, values) in values where number % 7 != 6 {
        thing.setValue(values[number % values.count], forKey: attribute(type))
      }
      if number % 3 == 1 { thing.setValue(Int64(number), forKey: "size") }
      if number % 3 == 2 { thing.setValue("size \(number)", forKey: "size") }
      // Small ones lie in their row; one has several parts.
      let sizes = [0, 10, 1_001, 300_000]
      if number % 5 < 4 {
        thing.setValue(Data(repeating: UInt8(truncatingIfNeeded: number), count: sizes[number % 5]), forKey: "scan")
      }
      things.append(thing)
    }
    for number in 0..<count {
      things[number].setValue(Set([things[(number + 5) % count], things[(number * 7) % count]]), forKey: "friends")
    }
    var tags: [ManagedObject] = []
    for number in 0..<10 {
      let tag = context.insertObject(ofEntity: "Tag")
      tag.setValue("tag \(number)", forKey: String(repeating: "long", count: 20))
      tag.setValue(things[number * 3 % count], forKey: "favourite")
      // Not in the order of the keys.
      tag.setValue([things[(number * 11 + 4) % count], things[number], things[count - 1 - number]], forKey: "things")
      tag.setValue(Set(tags), forKey: "others")
      tags.append(tag)
      let box = context.insertObject(ofEntity: "Box")
      box.setValue([things[count - 1 - number], things[number + 10]], forKey: "contents")
    }
  }
}

extension [StoreComparison.Table] {
  var areEqual: Bool { allSatisfy(\.isEqual) }
}
