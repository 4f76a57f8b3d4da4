import Foundation
import ObjectGraph
import StoreTesting
import Testing

@Suite("Migrating through the versions of a bundle", .onEachStore)
struct HundredVersionsTests {
  private static let names = ["Ada", "Bob", "Eve"]
  private static let photo = Data(repeating: 9, count: 100_000)

  @Test("A model of 100 versions loads, and every consecutive step migrates with all data")
  func everyStep() throws {
    let fixture = try MigrationFixture()
    let bundle = try VersionedBundle(in: fixture.folder)
    let versions = try ModelBundle(bundle.url).versions()
    #expect(versions == (0..<VersionedBundle.versionCount).map { "History \($0)" })
    #expect(try ModelBundle(bundle.url).currentVersion() == versions.last)
    for (number, version) in versions.enumerated() {
      let model = try ManagedObjectModel(contentsOf: bundle.url, version: version)
      try fixture.with(model: model) { context in
        if number == 0 { try Self.insertPeople(context) }
        try Self.checkPeople(number, context)
        if number.isMultiple(of: 10) { try Self.insertCycle(number, context) }
        for cycle in VersionedBundle.cycles(number) { try Self.check(cycle, number, context) }
      }
    }
    #expect(try fixture.integrity() == "ok")
  }

  private static func insertPeople(_ context: isolated ManagedObjectContext) throws {
    for name in names { _ = context.insert("Person", ["name": name, "photo": photo]) }
    try context.save()
  }

  private static func checkPeople(_ version: Int, _ context: isolated ManagedObjectContext) throws {
    let people = try context.all("Person")
    #expect(people.map { $0.value(forKey: VersionedBundle.name(version)) as? String } == names, "version \(version)")
    #expect(people.allSatisfy { $0.value(forKey: "photo") as? Data == photo }, "version \(version)")
  }

  /// Two objects: one of the first two people in the other order, with a size, and one of the last without.
  private static func insertCycle(_ version: Int, _ context: isolated ManagedObjectContext) throws {
    let cycle = VersionedBundle.Cycle(version / 10, version: version)
    let people = try context.all("Person")
    let first = context.insert(cycle.entity, ["label": "first", "size": 3])
    let second = context.insert(cycle.entity, ["label": "second"])
    for person in [people[1], people[0]] { person.setValue(first, forKey: cycle.relationship) }
    people[2].setValue(second, forKey: cycle.relationship)
    try context.save()
  }

  private static func check(
    _ cycle: VersionedBundle.Cycle, _ version: Int, _ context: isolated ManagedObjectContext
  ) throws {
    let name = VersionedBundle.name(version)
    let objects = try context.all(cycle.entity)
    let comment: Comment = "\(cycle.entity) in version \(version)"
    #expect(objects.map { $0.value(forKey: cycle.title) as? String } == ["first", "second"], comment)
    #expect(objects.map { $0[attribute: "size"] } == [3, cycle.hasRequiredSize ? 5 : .null], comment)
    let people = objects.map { object in
      let value = object.value(forKey: cycle.people)
      let destinations = value as? [ManagedObject] ?? (value as? Set<ManagedObject>).map(Array.init) ?? []
      let found = destinations.compactMap { $0.value(forKey: name) as? String }
      return cycle.isOrdered ? found : found.sorted(by: >)
    }
    #expect(people == [["Bob", "Ada"], ["Eve"]], comment)
    if cycle.isDerived { #expect(objects.map { $0[attribute: "peopleCount"] } == [2, 1], comment) }
  }
}
