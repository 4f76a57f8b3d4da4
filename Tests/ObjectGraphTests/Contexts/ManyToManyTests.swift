@testable import ObjectGraph
import StoreTesting
import Testing

@Suite("Many-to-many and ordered relationships", .onEachStore)
struct ManyToManyTests {
  private func zoo(inMemory: Bool = false) throws -> Stack { try Stack(Zoo.model, inMemory: inMemory) }

  private func skill(_ title: String, _ context: isolated ManagedObjectContext) -> Skill {
    let skill = Skill(context: context)
    skill.title = title
    return skill
  }

  @Test("Setting one side of a many-to-many relationship sets the other at once", arguments: [true, false])
  func inverses(saveBetween: Bool) throws {
    let stack = try zoo(inMemory: !saveBetween)
    try stack.main.performAndWait { main in
      let (anna, bert) = (Keeper(context: main), Keeper(context: main))
      let (feeding, diving, climbing) = (skill("feeding", main), skill("diving", main), skill("climbing", main))
      func pause(_ main: isolated ManagedObjectContext) throws {
        guard saveBetween else { return }
        try main.save()
        try stack.writer.performAndWait { try $0.save() }
        for object in [anna, bert, feeding, diving, climbing] as [ManagedObject] {
          try main.refresh(object, mergeChanges: false)
        }
      }
      anna.skills = [feeding, diving]
      feeding.addToKeepers(bert)
      bert.addToSkills(climbing)
      #expect(feeding.keepers == [anna, bert] && bert.skills == [feeding, climbing] && diving.keepers == [anna])
      try pause(main)
      #expect(feeding.keepers == [anna, bert] && bert.skills == [feeding, climbing] && diving.keepers == [anna])
      diving.keepers = [bert]
      anna.addToSkills(climbing)
      #expect(anna.skills == [feeding, climbing] && bert.skills == [feeding, climbing, diving])
      try pause(main)
      #expect(anna.skills == [feeding, climbing] && bert.skills == [feeding, climbing, diving])
      bert.removeFromSkills(feeding)
      #expect(feeding.keepers == [anna])
      try pause(main)
      #expect(bert.skills == [climbing, diving] && feeding.keepers == [anna])
    }
  }

  @Test(
    "Links lie in a table with a readable name, one row per pair, and an index both ways",
    .onlyOnSQLite("it reads SQLite's plans"))
  func table() throws {
    let stack = try zoo()
    stack.main.performAndWait { main in
      let keeper = Keeper(context: main)
      keeper.skills = [skill("a", main), skill("b", main)]
    }
    try stack.flush()
    let shell = SQLiteShell(path: stack.storePath)
    let join = "Keeper_skills JOIN Skill ON Skill._key = skills JOIN Keeper ON Keeper._key = keepers"
    #expect(try shell.run("SELECT group_concat(title) FROM (SELECT title FROM \(join) ORDER BY title)") == "a,b")
    #expect(
      try shell.run(
        "INSERT OR IGNORE INTO Keeper_skills SELECT * FROM Keeper_skills; SELECT count(*) FROM Keeper_skills")
        == "2")
    for column in ["skills", "keepers"] {
      let plan = try shell.run("EXPLAIN QUERY PLAN SELECT * FROM Keeper_skills WHERE \(column) = 1")
      #expect(plan.contains("SEARCH"), "\(plan)")
    }
  }

  @Test("A child sees the pending links of its parents, and its own reach the store level by level")
  func layers() throws {
    let stack = try zoo()
    let (worker, other) = (
      ManagedObjectContext(parent: stack.main, name: "worker"), ManagedObjectContext(parent: stack.main, name: "other")
    )
    let (keeperID, feedingID, divingID) = try stack.main.performAndWait { main in
      let keeper = Keeper(context: main)
      let (feeding, diving) = (skill("feeding", main), skill("diving", main))
      keeper.skills = [feeding, diving]
      try main.save()
      return (keeper.objectID, feeding.objectID, diving.objectID)
    }
    let climbingID = try worker.performAndWait { worker in
      let keeper = try #require(worker.object(with: keeperID) as? Keeper)
      #expect(Set(keeper.skills.map(\.objectID)) == [feedingID, divingID])
      let climbing = skill("climbing", worker)
      keeper.addToSkills(climbing)
      keeper.removeFromSkills(try #require(worker.object(with: feedingID) as? Skill))
      try other.performAndWait { other in
        let keeper = try #require(other.object(with: keeperID) as? Keeper)
        #expect(Set(keeper.skills.map(\.objectID)) == [feedingID, divingID])
      }
      try worker.save()
      return climbing.objectID
    }
    try stack.main.performAndWait { main in
      let keeper = try #require(main.object(with: keeperID) as? Keeper)
      #expect(Set(keeper.skills.map(\.objectID)) == [divingID, climbingID])
      let climbing = try #require(main.object(with: climbingID) as? Skill)
      #expect(climbing.keepers == [keeper] && main.updatedObjects.contains(keeper))
    }
    try stack.flush()
    let count = try stack.place.shell("SELECT count(*) FROM Keeper_skills")
    #expect(count == "2")
    try stack.root().performAndWait { root in
      let keeper = try #require(root.object(with: keeperID) as? Keeper)
      #expect(Set(keeper.skills.map(\.objectID)) == [divingID, climbingID])
    }
  }

  @Test("A rollback drops pending links, and a failed save keeps them for the next")
  func rollbackAndFailure() throws {
    let stack = try zoo()
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let skills = ["a", "b", "c"].map { skill($0, writer) }
      keeper.skills = Set(skills[..<2])
      try writer.save()
      keeper.skills = [skills[0], skills[2]]
      writer.rollback()
      #expect(keeper.skills == Set(skills[..<2]) && skills[2].keepers.isEmpty)
      keeper.skills = [skills[0]]
      let error = #expect(throws: ValidationError.self) { try writer.save() }
      #expect(error?.rule == .tooFewDestinations && error?.property == "skills")
      #expect(keeper.skills == [skills[0]])
      keeper.addToSkills(skills[2])
      try writer.save()
      try writer.refresh(keeper, mergeChanges: false)
      #expect(keeper.skills == [skills[0], skills[2]])
    }
  }

  private static func link(
    _ context: isolated ManagedObjectContext, _ keeperID: ManagedObjectID, _ ids: [ManagedObjectID]
  ) throws {
    let keeper = try #require(context.object(with: keeperID) as? Keeper)
    for id in ids { keeper.addToSkills(try #require(context.object(with: id) as? Skill)) }
  }

  @Test("Two contexts that add links to the same object are not in conflict, not even with the same link")
  func conflicts() throws {
    let stack = try zoo()
    let (first, second) = (stack.root("first"), stack.root("second"))
    let (keeperID, skillIDs) = try first.performAndWait { first in
      let keeper = Keeper(context: first)
      let skills = ["a", "b", "c"].map { skill($0, first) }
      try first.save()
      return (keeper.objectID, skills.map(\.objectID))
    }
    try first.performAndWait { try Self.link($0, keeperID, Array(skillIDs[..<2])) }
    try second.performAndWait { try Self.link($0, keeperID, Array(skillIDs[1...])) }
    try first.performAndWait { try $0.save() }
    try second.performAndWait { try $0.save() }
    try stack.root().performAndWait { root in
      let keeper = try #require(root.object(with: keeperID) as? Keeper)
      #expect(Set(keeper.skills.map(\.objectID)) == Set(skillIDs))
    }
    let versions = try stack.place.shell("SELECT _version FROM Keeper")
    #expect(versions == "1")
  }

  @Test("A changed to-many relationship marks its object as updated, whichever side was set")
  func updated() throws {
    let stack = try zoo()
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let (shift, dog, feeding, diving) = (
        Shift(context: writer), Dog(context: writer), skill("feeding", writer), skill("diving", writer)
      )
      try writer.save()
      dog.keeper = keeper
      #expect(keeper.isUpdated && writer.updatedObjects == [keeper, dog])
      try writer.save()
      #expect(!keeper.hasChanges)
      keeper.addToShifts(shift)
      #expect(writer.updatedObjects == [keeper, shift])
      try writer.save()
      keeper.skills = [feeding, diving]
      #expect(writer.updatedObjects == [keeper, feeding, diving])
      try writer.save()
      writer.delete(dog)
      #expect(writer.updatedObjects == [keeper] && writer.deletedObjects == [dog])
    }
  }

  @Test("Who links an object brings none of its values along, however old they are", arguments: [true, false])
  func linkedWithOldValues(isRegistered: Bool) throws {
    let stack = try Stack(Zoo.model)
    let child = ManagedObjectContext(parent: stack.writer, name: "child")
    let ids = try stack.writer.performAndWait { writer in
      let keepers = [Keeper(context: writer), Keeper(context: writer)]
      try writer.save()
      return keepers.map(\.objectID)
    }
    try child.performAndWait { child in
      let keeper = try #require(child.existingObject(with: ids[0]) as? Keeper)
      #expect(keeper.name == "nobody")
      keeper.setValue(Set([child.object(with: ids[1])]), forKey: "friends")
    }
    try stack.writer.performAndWait { writer in
      try (writer.existingObject(with: ids[0]) as? Keeper)?.name = "Ada"
      try writer.save()
    }
    try stack.writer.performAndWait { writer in
      let registered = isRegistered ? writer.object(with: ids[0]) : nil
      try child.performAndWait { try $0.save() }
      #expect(Set(writer.updatedObjects.map(\.objectID)) == Set(ids))
      let found = try writer.fetch(FetchRequest<Keeper>(format: "name = 'Ada'"))
      #expect(found.map(\.objectID) == [ids[0]] && found.first?.name == "Ada" && registered?.isFault != true)
      try writer.checkInvariants()
    }
    let reader = ManagedObjectContext(parent: stack.writer, name: "reader")
    let name = try reader.performAndWait { (try $0.existingObject(with: ids[0]) as? Keeper)?.name }
    #expect(name == "Ada")
    try stack.writer.performAndWait { writer in
      try writer.save()
      let keeper = writer.object(with: ids[0])
      #expect(writer.updatedObjects.isEmpty && !keeper.hasChanges)
    }
    try stack.checkInvariants(child)
    try stack.there.performAndWait { there in
      let keeper = try #require(there.existingObject(with: ids[0]) as? Keeper)
      #expect(keeper.name == "Ada" && keeper.friends.map(\.objectID) == [ids[1]])
    }
  }

  @Test("What was only linked is refreshed as if it were unchanged, and goes with a delete that is merged")
  func linkedRefreshedAndDeleted() throws {
    let stack = try Stack(Zoo.model)
    let child = ManagedObjectContext(parent: stack.here, name: "child")
    let ids = try stack.there.performAndWait { there in
      let keepers = [Keeper(context: there), Keeper(context: there)]
      try there.save()
      return keepers.map(\.objectID)
    }
    try child.performAndWait { child in
      child.object(with: ids[0]).setValue(Set(ids.map(child.object)), forKey: "friends")
      try child.save()
    }
    try stack.here.performAndWait { here in
      let keeper = try #require(here.existingObject(with: ids[0]) as? Keeper)
      #expect(keeper.name == "nobody" && keeper.isUpdated)
      _ = try didSave(in: stack.there) { try ($0.existingObject(with: ids[0]) as? Keeper)?.name = "Ada" }
      #expect(keeper.name == "nobody")
      here.refreshAllObjects()
      #expect(keeper.name == "Ada" && keeper.isUpdated && keeper.friends.count == 2)
    }
    let save = try didSave(in: stack.there) { there in for id in ids { there.delete(there.object(with: id)) } }
    try stack.here.performAndWait { here in
      here.mergeChanges(fromContextDidSave: save)
      #expect(here.hasChanges == false && here.updatedObjects.isEmpty)
      try here.save()
    }
    try stack.checkInvariants(stack.here)
  }

  @Test("An ordered relationship keeps its order through saves, and moves few rows", arguments: [true, false])
  func ordered(inMemory: Bool) throws {
    let stack = try zoo(inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let shifts = (0..<6).map { _ in Shift(context: writer) }
      func check(_ expected: [Int], _ writer: isolated ManagedObjectContext, changes: Int? = nil) throws {
        #expect(keeper.shifts == expected.map { shifts[$0] })
        if let changes { #expect(writer.updatedObjects.subtracting([keeper]).count == changes) }
        try writer.save()
        for object in [keeper] + shifts as [ManagedObject] { try writer.refresh(object, mergeChanges: false) }
        #expect(keeper.shifts == expected.map { shifts[$0] })
      }
      keeper.shifts = [shifts[3], shifts[1], shifts[2]]
      try check([3, 1, 2], writer)
      shifts[0].keeper = keeper
      try check([3, 1, 2, 0], writer, changes: 1)
      keeper.insertIntoShifts(shifts[5], at: 1)
      try check([3, 5, 1, 2, 0], writer, changes: 1)
      keeper.moveShifts(from: 4, to: 0)
      try check([0, 3, 5, 1, 2], writer, changes: 1)
      keeper.removeFromShifts(at: 2)
      try check([0, 3, 1, 2], writer, changes: 1)
      keeper.replaceShifts(at: 3, with: shifts[4])
      try check([0, 3, 1, 4], writer, changes: 2)
      keeper.shifts = keeper.shifts.reversed()
      try check([4, 1, 3, 0], writer, changes: 3)
      keeper.setValue([shifts[1], shifts[4]], forKey: "shifts")
      try check([1, 4], writer)
      #expect(shifts[0].keeper == nil)
    }
  }

  @Test("An object that is named twice is in an ordered relationship once, at its first place")
  func namedTwice() throws {
    let stack = try zoo(inMemory: true)
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let shifts = (0..<3).map { _ in Shift(context: writer) }
      keeper.shifts = [shifts[1], shifts[0], shifts[1], shifts[2], shifts[0]]
      #expect(keeper.shifts == [shifts[1], shifts[0], shifts[2]])
      try writer.save()
      writer.refreshAllObjects()
      #expect(keeper.shifts == [shifts[1], shifts[0], shifts[2]])
    }
  }

  @Test("Places at the end of an order ascend, also behind many that were drawn at once")
  func drawnPlaces() throws {
    let coordinator = try zoo(inMemory: true).coordinator
    var last = coordinator.drawOrder()
    for _ in 0..<1_000 {
      let next = coordinator.drawOrder()
      #expect(next > last)
      last = next
    }
    let first = coordinator.drawOrders(1_000_000)
    #expect(first > last)
    #expect(coordinator.drawOrder() > first + 999_999 << 10)
  }

  private static func check(_ keepers: [Keeper], _ animals: [Animal]) {
    #expect(keepers[0].favourites == [2, 3, 0, 1].map { animals[$0] })
    #expect(keepers[1].favourites == [2, 0, 1].map { animals[$0] })
    #expect(animals[0].fans == [2, 0, 1].map { keepers[$0] } && animals[1].fans == keepers)
  }

  @Test("A many-to-many relationship can be ordered at both ends", arguments: [true, false])
  func orderedBothWays(inMemory: Bool) throws {
    let stack = try zoo(inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let keepers = (0..<3).map { _ in Keeper(context: writer) }
      let animals: [Animal] = [Dog(context: writer), Cat(context: writer), Dog(context: writer), Cat(context: writer)]
      for keeper in keepers { keeper.favourites = [animals[2], animals[0], animals[1]] }
      animals[0].fans = [keepers[2], keepers[0], keepers[1]]
      keepers[0].insertIntoFavourites(animals[3], at: 1)
      Self.check(keepers, animals)
      try writer.save()
      for object in keepers + animals as [ManagedObject] { try writer.refresh(object, mergeChanges: false) }
      Self.check(keepers, animals)
      keepers[0].moveFavourites(from: 3, to: 0)
      #expect(keepers[0].favourites == [1, 2, 3, 0].map { animals[$0] } && animals[1].fans == keepers)
      try writer.save()
      try writer.refresh(keepers[0], mergeChanges: false)
      #expect(keepers[0].favourites == [1, 2, 3, 0].map { animals[$0] })
    }
    let ids = try stack.root().performAndWait { root in
      let keeper = try #require(try root.fetch(FetchRequest<Keeper>(sortBy: [], limit: 1)).first)
      return keeper.favourites.map { "\(type(of: $0))" }
    }
    #expect(ids == ["Cat", "Dog", "Cat", "Dog"])
  }

  @Test("A relationship that is its own inverse holds in both directions")
  func symmetric() throws {
    let stack = try zoo()
    try stack.writer.performAndWait { writer in
      let keepers = (0..<3).map { _ in Keeper(context: writer) }
      keepers[0].friends = [keepers[1], keepers[2]]
      keepers[1].addToFriends(keepers[1])
      try writer.save()
      keepers.forEach { try? writer.refresh($0, mergeChanges: false) }
      #expect(keepers[1].friends == [keepers[0], keepers[1]] && keepers[2].friends == [keepers[0]])
      keepers[2].friends = []
      #expect(keepers[0].friends == [keepers[1]])
      try writer.save()
      writer.delete(keepers[0])
      try writer.save()
      #expect(keepers[1].friends == [keepers[1]])
    }
  }

  @Test("A to-many relationship without an inverse keeps its objects, and loses those that are deleted")
  func withoutInverse() throws {
    let stack = try zoo()
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let badges = (0..<3).map { _ in Badge(context: writer) }
      keeper.badges = Set(badges)
      try writer.save()
      try writer.refresh(keeper, mergeChanges: false)
      #expect(keeper.badges == Set(badges))
      writer.delete(badges[0])
      writer.processPendingChanges()
      #expect(keeper.badges == Set(badges[1...]))
      try writer.save()
      writer.delete(keeper)
      try writer.save()
      #expect(try writer.count(for: FetchRequest<Badge>()) == 0)
    }
    #expect(try stack.place.shell("SELECT count(*) FROM Keeper_badges") == "0")
  }

  @Test("Order numbers ascend, and as few change as must")
  func orderNumbers() {
    var drawn: Int64 = 1_000
    func draw() -> Int64 {
      drawn += 10
      return drawn
    }
    #expect(OrderNumbers.renewed([10, 20, 30], draw: draw) == [10, 20, 30])
    #expect(OrderNumbers.renewed([10, nil, 20], draw: draw) == [10, 15, 20])
    #expect(OrderNumbers.renewed([30, 10, 20], draw: draw)[1...] == [10, 20])
    for numbers in [[1, nil, 2], [5, 5, 5], [nil, nil], [], [3, 2, 1, nil]] as [[Int64?]] {
      let renewed = OrderNumbers.renewed(numbers, draw: draw)
      #expect(renewed == renewed.sorted() && Set(renewed).count == numbers.count)
    }
  }
}
