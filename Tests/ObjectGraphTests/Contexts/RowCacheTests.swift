import Foundation
import ObjectGraphTesting
import Testing

@testable import ObjectGraph

@Suite("The rows that contexts share are what is stored")
struct RowCacheTests {
  @Test(
    "A new object on which nothing was set is nobody else's, though one like it was saved before",
    arguments: [true, false])
  func untouchedInsert(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let (here, there) = (stack.here, stack.there)
    try here.performAndWait { here in
      _ = Department(context: here)
      try here.save()
    }
    let id = try here.performAndWait { here in
      let second = Department(context: here)
      let found = try here.fetch(FetchRequest<Department>())
      #expect(found.count == 2)
      return second.objectID
    }
    there.performAndWait { there in
      _ = #expect(throws: ObjectNotFound.self) { try there.existingObject(with: id) }
    }
    try stack.checkInvariants(here, there)
    try here.performAndWait { here in
      (here.object(with: id) as? Department)?.name = "Engines"
      try here.save()
    }
    #expect(try there.performAndWait { try ($0.existingObject(with: id) as? Department)?.name } == "Engines")
    try stack.checkInvariants(here, there)
  }

  @Test("What was read before a save is not kept after it")
  func lateReaders() throws {
    let stack = try Stack(People.model)
    let (department, ada) = try stack.here.performAndWait { here in
      let (department, ada) = (Department(context: here), Person(context: here))
      ada.department = department
      try here.save()
      return (department.objectID, ada.objectID)
    }
    let employees = try #require(
      People.model.entities.first { $0.name == "Department" }?.property(named: "employees"))
    let start = stack.coordinator.sharedRows.readStart
    let old = try #require(try stack.coordinator.row(for: ada))
    try stack.here.performAndWait { here in
      let ada = try #require(here.object(with: ada) as? Person)
      (ada.age, ada.department) = (9, nil)
      try here.save()
    }
    stack.coordinator.sharedRows.keep([(ada, old)], start)
    stack.coordinator.sharedRows.keep([ada], asDestinationsOf: department, property: employees, start: start)
    stack.there.performAndWait { there in
      #expect((there.object(with: ada) as? Person)?.age == 9)
      #expect((there.object(with: department) as? Department)?.employees == [])
    }
    try stack.coordinator.checkInvariants()
  }

  @Test("The rows that are kept take no more than they may, and what is forgotten is nowhere any more")
  func bounded() throws {
    let limit = 100_000
    let coordinator = PersistentStoreCoordinator(model: People.model, rowCacheByteLimit: limit)
    try coordinator.open(.inMemory)
    let context = ManagedObjectContext(coordinator: coordinator)
    let ids = try context.performAndWait { context in
      let people = (0..<3_000).map { number in
        let person = Person(context: context)
        person.firstName = "person \(number)"
        return person
      }
      try context.save()
      return people.map(\.objectID)
    }
    for id in ids { #expect(try coordinator.row(for: id) != nil) }
    // Each of the two generations begins anew once it is full, which it is noticed to be one row later.
    #expect(coordinator.sharedRows.byteCount <= 2 * limit)

    // With room for one row, what comes next makes it one of the old generation.
    let rows = try ids.prefix(3).map { ($0, try #require(try coordinator.row(for: $0))) }
    var cache = RowCache(byteLimit: 2)
    for (id, row) in rows.prefix(2) { cache.insert(row, for: id, .beginning) }
    #expect(cache.contains(ids[0]) && cache.contains(ids[1]))
    cache.remove(ids[0])
    #expect(cache.row(for: ids[0], since: .beginning) == nil)
    cache.insert(rows[2].1, for: ids[2], .beginning)
    #expect(cache.contains(ids[1]) && cache.contains(ids[2]))
  }

  @Test("Of two reads of a row the one that began later counts, whichever ends first")
  func slowReader() throws {
    let stack = try Stack(People.model)
    let ids = try stack.here.performAndWait { here in
      let people = ["old", "new"].map { name in
        let person = Person(context: here)
        person.firstName = name
        return person
      }
      try here.save()
      return people.map(\.objectID)
    }
    let name = try #require(People.model.entitiesByName["Person"]?.property(named: "firstName")).slot
    let rows = try ids.map { try #require(try stack.coordinator.row(for: $0)) }
    let (earlier, later) = (stack.coordinator.sharedRows.now, stack.coordinator.sharedRows.now)
    try #require(earlier < later)
    for isSlow in [true, false] {
      var cache = RowCache(byteLimit: 1 << 20)
      // The rows of two objects stand for what one was and is.
      let reads = [(rows[0], earlier), (rows[1], later)]
      for (row, time) in isSlow ? reads.reversed() : reads { cache.insert(row, for: ids[0], readAfter: 0, time) }
      #expect(cache.peek(ids[0])?.row.text(name) == "new")
    }
  }

  @Test("A read that nobody can place among the saves is not kept, and ends the stay of an older row")
  func doubtfulRead() throws {
    let stack = try Stack(People.model)
    let (id, other) = try stack.here.performAndWait { here in
      let (ada, department) = (Person(context: here), Department(context: here))
      (ada.firstName, ada.department) = ("Ada", department)
      try here.save()
      return (ada.objectID, department.objectID)
    }
    let old = try #require(try stack.coordinator.row(for: id))
    try stack.there.performAndWait { there in
      (there.object(with: id) as? Person)?.firstName = "Grace"
      try there.save()
    }
    let new = try #require(try stack.coordinator.row(for: id))
    var cache = RowCache(byteLimit: 1 << 20)
    cache.insert(old, for: id, readAfter: 0, .beginning)
    // Others' rows of another family are forgotten, all of them, while this one is read.
    cache.begin(save: 1)
    cache.forget(roots: [Int(other.rootIndex)])
    cache.insert(new, for: id, readAfter: 0, stack.coordinator.sharedRows.now)
    #expect(!cache.contains(id))
    cache.insert(new, for: id, readAfter: 1, stack.coordinator.sharedRows.now)
    #expect(cache.contains(id))
  }

  @Test("Transient values stay with the object that they were set in, though no row is kept", arguments: [0, 1 << 20])
  func transients(limit: Int) throws {
    let coordinator = PersistentStoreCoordinator(model: Zoo.model, rowCacheByteLimit: limit)
    try coordinator.open(.inMemory)
    let here = ManagedObjectContext(coordinator: coordinator, name: "here")
    let there = ManagedObjectContext(coordinator: coordinator, name: "there")
    let id = try here.performAndWait { here in
      let all = here.insertObject(ofEntity: "Everything")
      try here.save()
      return all.objectID
    }
    try there.performAndWait { there in
      let mine = try there.existingObject(with: id)
      #expect(mine.value(forKey: "text") == nil)
      let save = try didSave(in: here) { here in
        here.object(with: id).setValue("mine", forKey: "scratch")
        here.object(with: id).setValue("new", forKey: "text")
      }
      there.mergeChanges(fromContextDidSave: save)
      #expect(mine.value(forKey: "text") as? String == "new")
      #expect(mine.value(forKey: "scratch") == nil)
    }
  }

  @Test("So are those of a list that grows by an empty object at a time", arguments: [true, false])
  func growingList(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let controller = try FetchedResultsController(
      FetchRequest<Department>(sortBy: [.ascending("name")]), context: stack.main)
    try stack.main.performAndWait { try controller.performFetch(in: $0) }
    var ids: [ManagedObjectID] = []
    for number in 0..<3 {
      ids.append(
        try stack.main.performAndWait { main in
          let added = Department(context: main)
          _ = try main.fetch(FetchRequest<Department>())
          if number > 0 { added.name = "department \(number)" }
          return added.objectID
        })
      try stack.flush()
      try stack.checkInvariants()
    }
    let names = try stack.there.performAndWait { [ids] there in
      var names: [String?] = []
      for id in ids { names.append((try there.existingObject(with: id) as? Department)?.name) }
      return names
    }
    #expect(names == [nil, "department 1", "department 2"])
  }

  @Test(
    "A fetch puts no older row over what others have saved, or deleted, meanwhile",
    arguments: [true, false], [true, false])
  func relationshipChange(inMemory: Bool, deletes: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let (ada, department) = try stack.there.performAndWait { there in
      let (ada, department) = (Person(context: there), Department(context: there))
      department.name = "old"
      try there.save()
      return (ada.objectID, department.objectID)
    }
    try stack.here.performAndWait { here in
      (try here.existingObject(with: ada) as? Person)?.department = here.object(with: department) as? Department
    }
    try stack.there.performAndWait { there in
      let object = try #require(try there.existingObject(with: department) as? Department)
      if deletes { there.delete(object) } else { object.name = "new" }
      try there.save()
    }
    try stack.here.performAndWait { here in
      // Whom others now lead to need not be there any more: the save finds out.
      let found = try here.fetch(FetchRequest<Department>())
      #expect(found.count == (deletes ? 0 : 1))
    }
    try stack.checkInvariants(stack.here, stack.there)
    try stack.root().performAndWait { other in
      if deletes {
        #expect(throws: ObjectNotFound.self) { try other.existingObject(with: department) }
      } else {
        let object = try other.existingObject(with: department)
        #expect((object as? Department)?.name == "new")
      }
    }
  }

  @Test("A fetch keeps no values that only its own context has", arguments: [true, false])
  func unstoredValues(inMemory: Bool) throws {
    let stack = try Stack(Shop.model, inMemory: inMemory)
    let id = try stack.here.performAndWait { here in
      let customer = Customer(context: here)
      customer.name = "Ada"
      try here.save()
      customer.scratch = "mine"
      customer.colour = Colour(red: 1, green: 2)
      return customer.objectID
    }
    _ = try stack.here.performAndWait { try $0.fetch(FetchRequest<Customer>()).count }
    try stack.checkInvariants(stack.here)
    let seen = try stack.there.performAndWait { there in
      let customer = try #require(there.existingObject(with: id) as? Customer)
      return [customer.scratch, customer.name, customer.colour.map { "\($0)" }]
    }
    #expect(seen == [nil, "Ada", nil])
  }

  @Test("Rows that an owner says are over are not kept, and leave when they become so")
  func exclusion() throws {
    let stack = try Stack(People.model)
    let (ada, bob) = (try stack.savedPerson("Ada"), try stack.savedPerson("Bob"))
    func age(_ id: ManagedObjectID, to age: Int64) throws {
      try stack.here.performAndWait { here in
        (try here.existingObject(with: id) as? Person)?.age = age
        try here.save()
      }
    }
    func statementsToRead(_ id: ManagedObjectID) throws -> Int {
      try stack.statementCount {
        try stack.root().performAndWait { _ = try $0.existingObject(with: id) }
      }
    }
    try age(ada, to: 200)
    #expect(try statementsToRead(ada) == 0)
    try stack.coordinator.excludeFromRowCache(Condition(format: "age >= 100"), ofEntity: "Person")
    // Neither does it stay, nor does reading bring it back.
    for _ in 0..<2 { #expect(try statementsToRead(ada) == 1) }
    try age(bob, to: 50)
    #expect(try statementsToRead(bob) == 0)
    try age(bob, to: 100)
    for _ in 0..<2 { #expect(try statementsToRead(bob) == 1) }
    try age(bob, to: 99)
    #expect(try statementsToRead(bob) == 0)
    #expect(throws: ConditionError.self) {
      try stack.coordinator.excludeFromRowCache(Condition(format: "age >= 100"), ofEntity: "Nobody")
    }
  }

  @Test("What the cache takes with its tables stays within its limit, whatever comes and goes")
  func limit() throws {
    let limit = 1 << 20
    let coordinator = PersistentStoreCoordinator(model: People.model, rowCacheByteLimit: limit)
    try coordinator.open(.inMemory)
    let context = ManagedObjectContext(coordinator: coordinator, name: "here")
    try context.performAndWait { context in
      var most = 0
      for round in 0..<40 {
        for number in 0..<500 {
          let person = Person(context: context)
          person.firstName = String(repeating: "n", count: number % 40)
        }
        try context.save()
        for person in try context.fetch(FetchRequest<Person>(limit: 900)) {
          person.age += 1
          person.firstName = String(repeating: "n", count: round * 3)
        }
        try context.save()
        most = max(most, coordinator.sharedRows.byteCount)
        #expect(coordinator.sharedRows.byteCount < limit * 11 / 10)
        if round % 10 == 9 { context.reset() }
      }
      #expect(most > limit / 8)
    }
    try coordinator.checkInvariants()
  }
}
