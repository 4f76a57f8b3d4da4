import Foundation
import ObjectGraph
import TestSupport

/// A row of saves with everything that a save can write, each a function of its number: what any prefix of them leaves
/// is known.
struct KillScenario {
  /// What is known of an item.
  struct Item: Equatable {
    var note: Int64
    /// The size of its photo, whose bytes are all the same.
    var photoSize: Int?
    var tags: Set<Int64>
    var album: Int64
  }

  static let lineCount = 5
  private static let tagCount: Int64 = 4
  private static let albumCount: Int64 = 3
  let seed: UInt64
  /// How many saves have been made.
  private(set) var saveCount: Int64 = 0
  /// Items by number.
  private(set) var items: [Int64: Item] = [:]

  init(seed: UInt64) { self.seed = seed }

  static func model() throws -> ManagedObjectModel {
    var photo = AttributeDescription("photo", .binary)
    photo.allowsExternalBinaryDataStorage = true
    func numbered(_ name: String, _ relationships: [RelationshipDescription] = []) -> EntityDescription {
      EntityDescription(name, attributes: [AttributeDescription("number", .integer64)], relationships: relationships)
    }
    var item = numbered(
      "Item",
      [
        RelationshipDescription("tags", to: "Tag", inverse: "items", isToMany: true),
        RelationshipDescription("album", to: "Album", inverse: "items"),
      ])
    item.attributes += [AttributeDescription("note", .integer64), photo]
    return try ManagedObjectModel([
      numbered("Ledger"), numbered("Line"), item,
      numbered("Tag", [RelationshipDescription("items", to: "Item", inverse: "tags", isToMany: true)]),
      numbered("Album", [RelationshipDescription("items", to: "Item", inverse: "album", isToMany: true)]),
    ])
  }

  /// What a save does to items; nil deletes one.
  private mutating func nextChanges() -> [(number: Int64, item: Item?)] {
    saveCount += 1
    var random = SeededGenerator(seed: seed &+ UInt64(saveCount) &* 0x9e37_79b9)
    func item() -> Item {
      Item(
        note: .random(in: 0...1_000, using: &random),
        photoSize: Bool.random(using: &random) ? .random(in: 60_000...90_000, using: &random) : nil,
        tags: Set((0..<2).map { _ in .random(in: 0..<Self.tagCount, using: &random) }),
        album: .random(in: 0..<Self.albumCount, using: &random))
    }
    var changes: [Int64: Item?] = [:]
    let present = items.keys.sorted()
    for _ in 0..<(present.count > 12 ? 4 : 2) {
      if let victim = present.randomElement(using: &random) { changes[victim] = .some(nil) }
    }
    for _ in 0..<3 {
      if let chosen = present.randomElement(using: &random), changes[chosen] == nil { changes[chosen] = item() }
    }
    for index in 0..<3 { changes[saveCount * 10 + Int64(index)] = item() }
    for (number, item) in changes { items[number] = item }
    return changes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Goes on to what so many saves leave.
  mutating func advance(to count: Int64) { while saveCount < count { _ = nextChanges() } }

  /// Does the next save.
  mutating func saveNext(in context: isolated ManagedObjectContext) throws {
    let changes = nextChanges()
    for (number, item) in changes {
      let present = try Self.object("Item", number, context)
      guard let item else {
        if let present { context.delete(present) }
        continue
      }
      let object = present ?? Self.insert("Item", number, context)
      object.setValue(item.note, forKey: "note")
      object.setValue(item.photoSize.map { Data(repeating: UInt8($0 & 0xff), count: $0) }, forKey: "photo")
      let tags = try item.tags.map { try Self.object("Tag", $0, context) ?? Self.insert("Tag", $0, context) }
      object.setValue(Set(tags), forKey: "tags")
      let album = try Self.object("Album", item.album, context) ?? Self.insert("Album", item.album, context)
      object.setValue(album, forKey: "album")
    }
    context.insert(try Self.lines(context, save: saveCount))
    _ = Self.insert("Ledger", saveCount, context)
    try context.save()
  }

  private static func insert(
    _ entity: String, _ number: Int64, _ context: isolated ManagedObjectContext
  ) -> ManagedObject {
    let object = context.insertObject(ofEntity: entity)
    object.setValue(number, forKey: "number")
    return object
  }

  private static func object(
    _ entity: String, _ number: Int64, _ context: isolated ManagedObjectContext
  ) throws -> ManagedObject? {
    let condition = Condition.compare(.keyPath(["number"]), .equal, .value(.integer(number)), [])
    return try context.fetch(FetchRequest<ManagedObject>(entity: entity, condition)).first
  }

  private static func lines(_ context: isolated ManagedObjectContext, save: Int64) throws -> RowBatch {
    let coordinator = context.coordinator
    guard let entity = coordinator.model.entitiesByName["Line"], let number = entity.property(named: "number") else {
      throw StoreError(.unsupported, "the model has no Line.number")
    }
    let keys = try coordinator.drawKeys(for: entity, count: lineCount)
    return RowBatch(
      entity: entity, layout: coordinator.layouts[entity.index], coordinatorOrdinal: coordinator.ordinal,
      firstKey: keys.lowerBound, count: lineCount,
      columns: [RowBatch.Column(slot: number.slot, values: .integers(Array(repeating: save, count: lineCount)))])
  }

  // MARK: What a store holds

  /// The numbers of an entity's objects.
  static func numbers(_ entity: String, _ context: isolated ManagedObjectContext) throws -> [Int64] {
    try context.fetch(FetchRequest<ManagedObject>(entity: entity, nil)).compactMap(number).sorted()
  }

  /// The items as a store holds them, photos read; nil where a photo is not made of one byte.
  static func storedItems(_ context: isolated ManagedObjectContext) throws -> [Int64: Item] {
    var items: [Int64: Item] = [:]
    for object in try context.fetch(FetchRequest<ManagedObject>(entity: "Item", nil)) {
      let photo = object.value(forKey: "photo") as? Data
      let isWhole = photo.map { $0 == Data(repeating: UInt8($0.count & 0xff), count: $0.count) } ?? true
      items[number(object) ?? -1] = Item(
        note: object.value(forKey: "note") as? Int64 ?? -1, photoSize: isWhole ? photo?.count : -1,
        tags: Set((object.value(forKey: "tags") as? Set<ManagedObject> ?? []).compactMap(number)),
        album: (object.value(forKey: "album") as? ManagedObject).flatMap(number) ?? -1)
    }
    return items
  }

  private static func number(_ object: ManagedObject) -> Int64? { object.value(forKey: "number") as? Int64 }
}
