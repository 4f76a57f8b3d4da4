import Foundation
import ObjectGraph
import StoreTesting
import TestSupport
import Testing

/// Models, objects and changes of both, drawn by chance: what comes out of the store is compared with plain values.
@Suite("Random migrations", .onEachStore)
struct RandomMigrationTests {
  @Test(
    "give each object the values and links that a plain model says, or refuse and change nothing", arguments: 0..<60)
  func random(seed: Int) throws {
    print("random migration, seed \(seed)")
    var random = SeededGenerator(seed: UInt64(seed) + 0x26)
    let first = World(&random)
    var last = first
    for _ in 0..<Int.random(in: 1...8, using: &random) { last.change(&random) }
    let fixture = try MigrationFixture()
    try fixture.with(first.entities) { try first.insert($0) }
    let comment: Comment = "seed \(seed)"
    if last.isRefused {
      let error = #expect(throws: StoreError.self, comment) { try fixture.with(last.entities) { _ in } }
      #expect(error?.message.contains("would not survive that") == true, "seed \(seed): \(error?.message ?? "")")
      try fixture.with(first.entities) { try first.check($0, comment) }
    } else {
      try fixture.with(last.entities) { [last] in try last.check($0, comment) }
    }
    #expect(try fixture.integrity() == "ok", comment)
  }
}

private struct World: Sendable {
  struct Thing: Sendable {
    var values: [String: Value] = [:]
    var links: [String: Set<Int64>] = [:]
  }

  var entities: [EntityDescription] = []
  /// The objects of each entity by their number, which is unique among all.
  var things: [String: [Int64: Thing]] = [:]
  /// Whether a value does not survive.
  var isRefused: Bool { !lost.isEmpty }
  /// The attributes of such values.
  private var lost: Set<String> = []
  private var serial = 0
  /// Attributes that have been changed otherwise than in their name.
  private var done: Set<String> = []

  init(_ random: inout SeededGenerator) {
    var number: Int64 = 0
    for _ in 0..<Int.random(in: 2...4, using: &random) {
      var entity = EntityDescription(draw("E"), attributes: [AttributeDescription("uid", .integer64)])
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        entity.attributes.append(AttributeDescription(draw("a"), Self.type(&random)))
      }
      things[entity.name] = [:]
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        number += 1
        var thing = Thing(values: ["uid": .integer(number)])
        for attribute in entity.attributes.dropFirst() {
          thing.values[attribute.name] = Bool.random(using: &random) ? Self.value(attribute.type, &random) : .null
        }
        things[entity.name]?[number] = thing
      }
      entities.append(entity)
    }
    for _ in 0..<Int.random(in: 1...4, using: &random) { relate(&random) }
  }

  private mutating func draw(_ prefix: String) -> String {
    serial += 1
    return "\(prefix)\(serial)"
  }

  private static func type(_ random: inout SeededGenerator) -> AttributeType {
    ([.string] + NumberMigrationTests.numbers).randomElement(using: &random) ?? .string
  }

  private static func value(_ type: AttributeType, _ random: inout SeededGenerator) -> Value {
    if type == .string { return .string("s\(Int.random(in: 0..<100, using: &random))") }
    // Mostly values that every type has.
    let small = Int.random(in: 0..<10, using: &random) > 0
    let samples = NumberMigrationTests.samples(type)
    return (small ? samples.prefix(2) : samples[...]).randomElement(using: &random) ?? .null
  }

  /// Adds a relationship with its inverse, and links between objects that are there.
  private mutating func relate(_ random: inout SeededGenerator) {
    let (from, to) = (
      Int.random(in: entities.indices, using: &random), Int.random(in: entities.indices, using: &random)
    )
    let (forward, back) = (draw("r"), draw("r"))
    let isMany = Bool.random(using: &random)
    entities[from].relationships.append(
      RelationshipDescription(forward, to: entities[to].name, inverse: back, isToMany: isMany))
    entities[to].relationships.append(
      RelationshipDescription(back, to: entities[from].name, inverse: forward, isToMany: true))
    let (sources, destinations) = (entities[from].name, entities[to].name)
    for source in (things[sources] ?? [:]).keys.sorted() {
      for destination in (things[destinations] ?? [:]).keys.sorted() {
        guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
        if !isMany, things[sources]?[source]?.links[forward]?.isEmpty == false { continue }
        things[sources]?[source]?.links[forward, default: []].insert(destination)
        things[destinations]?[destination]?.links[back, default: []].insert(source)
      }
    }
  }

  func insert(_ context: isolated ManagedObjectContext) throws {
    var objects: [Int64: ManagedObject] = [:]
    for entity in entities {
      for (number, thing) in (things[entity.name] ?? [:]).sorted(by: { $0.key < $1.key }) {
        let object = context.insert(entity.name, [:])
        for (name, value) in thing.values { object.setValue(value.unwrapped, forKey: name) }
        objects[number] = object
      }
    }
    for entity in entities {
      for (number, thing) in things[entity.name] ?? [:] {
        for relationship in entity.relationships {
          let found = (thing.links[relationship.name] ?? []).compactMap { objects[$0] }
          if relationship.isToMany {
            objects[number]?.setValue(Set(found), forKey: relationship.name)
          } else if let destination = found.first {
            objects[number]?.setValue(destination, forKey: relationship.name)
          }
        }
      }
    }
  }

  func check(_ context: isolated ManagedObjectContext, _ comment: Comment) throws {
    for entity in entities {
      let objects = try context.all(entity.name)
      let expected = things[entity.name] ?? [:]
      #expect(objects.count == expected.count, comment)
      for object in objects {
        guard case .integer(let number)? = object[attribute: "uid"], let thing = expected[number] else {
          Issue.record("an object of \(entity.name) that nobody made")
          continue
        }
        for attribute in entity.attributes {
          let found = object[attribute: attribute.name] ?? .null
          #expect(found == thing.values[attribute.name] ?? .null, "\(entity.name).\(attribute.name), \(comment)")
        }
        for relationship in entity.relationships {
          let value = object.value(forKey: relationship.name)
          let found = (value as? Set<ManagedObject>) ?? (value as? ManagedObject).map { [$0] } ?? []
          let numbers = Set(found.map { $0[attribute: "uid"] })
          let wanted = Set((thing.links[relationship.name] ?? []).map { Value?.some(.integer($0)) })
          #expect(numbers == wanted, "\(entity.name).\(relationship.name), \(comment)")
        }
      }
    }
    try context.coordinator.checkInvariants()
  }

  // MARK: Changes

  mutating func change(_ random: inout SeededGenerator) {
    let place = Int.random(in: entities.indices, using: &random)
    let attribute = Int.random(in: entities[place].attributes.indices, using: &random)
    switch Int.random(in: 0..<9, using: &random) {
    case 0: add(to: place, &random)
    case 1 where attribute > 0: lost.remove(entities[place].attributes.remove(at: attribute).name)
    case 2 where attribute > 0: rename(attribute, of: place)
    case 3, 4: if attribute > 0 { retype(attribute, of: place, &random) }
    case 5 where attribute > 0: require(attribute, of: place, &random)
    case 6: rename(place)
    case 7 where entities.count > 1: remove(place)
    default:
      var entity = EntityDescription(draw("E"), attributes: [AttributeDescription("uid", .integer64)])
      var owner = RelationshipDescription(draw("r"), to: entity.name, inverse: nil)
      owner.isOptional = Bool.random(using: &random)
      entities[place].relationships.append(owner)
      entity.attributes.append(AttributeDescription(draw("a"), .string, isOptional: false))
      entities.append(entity)
    }
  }

  private mutating func add(to place: Int, _ random: inout SeededGenerator) {
    let type = Self.type(&random)
    let value = Bool.random(using: &random) ? Self.value(type, &random) : .null
    let name = draw("a")
    done.insert(name)
    let isRequired = !value.isNull && Bool.random(using: &random)
    entities[place].attributes.append(AttributeDescription(name, type, isOptional: !isRequired, default: value))
    each(of: place) { $0.values[name] = value }
  }

  private mutating func rename(_ attribute: Int, of place: Int) {
    let old = entities[place].attributes[attribute].name
    let name = draw("a")
    if entities[place].attributes[attribute].renamingIdentifier == nil {
      entities[place].attributes[attribute].renamingIdentifier = old
    }
    entities[place].attributes[attribute].name = name
    if done.contains(old) { done.insert(name) }
    if lost.remove(old) != nil { lost.insert(name) }
    each(of: place) { $0.values[name] = $0.values.removeValue(forKey: old) }
  }

  private mutating func retype(_ attribute: Int, of place: Int, _ random: inout SeededGenerator) {
    let description = entities[place].attributes[attribute]
    guard description.type != .string, !done.contains(description.name),
      let type = NumberMigrationTests.numbers.randomElement(using: &random)
    else { return }
    done.insert(description.name)
    entities[place].attributes[attribute].type = type
    var isLost = false
    each(of: place) { thing in
      guard let value = thing.values[description.name], !value.isNull else { return }
      let converted = NumberMigrationTests.expected(value, description.type, type)
      if converted == nil { isLost = true }
      thing.values[description.name] = converted
    }
    if isLost { lost.insert(description.name) }
  }

  private mutating func require(_ attribute: Int, of place: Int, _ random: inout SeededGenerator) {
    let description = entities[place].attributes[attribute]
    guard !done.contains(description.name) else { return }
    done.insert(description.name)
    let value = Self.value(description.type, &random)
    entities[place].attributes[attribute].isOptional = false
    entities[place].attributes[attribute].defaultValue = value
    each(of: place) { if $0.values[description.name]?.isNull ?? true { $0.values[description.name] = value } }
  }

  private mutating func rename(_ place: Int) {
    let old = entities[place].name
    let name = draw("E")
    if entities[place].renamingIdentifier == nil { entities[place].renamingIdentifier = old }
    entities[place].name = name
    things[name] = things.removeValue(forKey: old)
    for place in entities.indices {
      for number in entities[place].relationships.indices
      where entities[place].relationships[number].destinationEntity == old {
        entities[place].relationships[number].destinationEntity = name
      }
    }
  }

  private mutating func remove(_ place: Int) {
    let removed = entities.remove(at: place)
    let name = removed.name
    things[name] = nil
    lost.subtract(removed.attributes.map(\.name))
    for place in entities.indices { entities[place].relationships.removeAll { $0.destinationEntity == name } }
  }

  private mutating func each(of place: Int, _ body: (inout Thing) -> Void) {
    let name = entities[place].name
    things[name] = things[name]?.mapValues { thing in
      var thing = thing
      body(&thing)
      return thing
    }
  }
}
