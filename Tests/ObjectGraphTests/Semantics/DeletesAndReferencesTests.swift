import Foundation
import ObjectGraph
import ObjectGraphTesting
import Testing

/// In which order two contexts save, of which one refers to what the other deletes without having seen each other.
enum SaveOrder: CaseIterable {
  case referenceFirst
  case deleteFirst
}

@Suite("Conflicts: deletes meet references")
struct DeletesAndReferencesTests {
  private static let policies: [MergePolicy] = [
    .error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
  ]

  /// Saves two siblings and then the writer.
  ///
  /// - Parameter flushes: whether to save the writer between the siblings too.
  private func save(
    _ stack: Stack, _ order: SaveOrder, flushes: Bool, reference: ManagedObjectContext, delete: ManagedObjectContext
  ) throws {
    let (first, second) = order == .referenceFirst ? (reference, delete) : (delete, reference)
    try first.performAndWait { try $0.save() }
    if flushes { try stack.writer.performAndWait { try $0.save() } }
    try second.performAndWait { try $0.save() }
    try stack.writer.performAndWait { try $0.checkInvariants() }
    try stack.writer.performAndWait { try $0.save() }
    try stack.checkInvariants(reference, delete)
  }

  private func siblings(_ stack: Stack) -> (ManagedObjectContext, ManagedObjectContext) {
    (
      ManagedObjectContext(parent: stack.writer, name: "first"),
      ManagedObjectContext(parent: stack.writer, name: "second")
    )
  }

  @Test(
    "A sibling's reference to what another deletes is nil where the rule is nullify, whoever saves first and whenever",
    arguments: SaveOrder.allCases, [true, false])
  func nullify(order: SaveOrder, flushes: Bool) throws {
    for inMemory in [true, false] {
      for isStored in [true, false] where isStored || !flushes {
        let stack = try Stack(People.model, inMemory: inMemory)
        let (person, department) = try stack.writer.performAndWait { writer in
          let (person, department) = (Person(context: writer), Department(context: writer))
          if isStored { try writer.save() }
          return (person.objectID, department.objectID)
        }
        let (referring, deleting) = siblings(stack)
        try referring.performAndWait { context in
          let other = Person(context: context)
          other.department = try context.existingObject(with: department) as? Department
          (try context.existingObject(with: person) as? Person)?.department = other.department
        }
        try deleting.performAndWait { $0.delete(try $0.existingObject(with: department)) }
        try save(stack, order, flushes: flushes, reference: referring, delete: deleting)
        let found = try stack.there.performAndWait { there in
          try there.fetch(FetchRequest<Person>(format: "department = nil")).count
        }
        #expect(found == 2)
        #expect(try stack.there.performAndWait { try $0.count(for: FetchRequest<Department>()) } == 0)
        #expect(
          try stack.writer.performAndWait { try $0.fetch(FetchRequest<Person>(format: "department = nil")).count } == 2)
      }
    }
  }

  @Test(
    "What a sibling puts into an object that another deletes goes with it where the rule is cascade",
    arguments: SaveOrder.allCases, [true, false])
  func cascade(order: SaveOrder, flushes: Bool) throws {
    for inMemory in [true, false] {
      let stack = try Stack(Shop.model, inMemory: inMemory)
      let (customer, order1) = try stack.writer.performAndWait { writer in
        let (customer, order) = (Customer(context: writer), Order(context: writer))
        let item = Item(context: writer)
        item.order = order
        try writer.save()
        return (customer.objectID, order.objectID)
      }
      let (referring, deleting) = siblings(stack)
      try referring.performAndWait { context in
        let customer = try context.existingObject(with: customer) as? Customer
        (try context.existingObject(with: order1) as? Order)?.customer = customer
        Order(context: context).customer = customer
      }
      try deleting.performAndWait { $0.delete(try $0.existingObject(with: customer)) }
      try save(stack, order, flushes: flushes, reference: referring, delete: deleting)
      let left = try stack.there.performAndWait { there in
        (
          try there.count(for: FetchRequest<Customer>()), try there.count(for: FetchRequest<Order>()),
          try there.count(for: FetchRequest<Item>())
        )
      }
      #expect(left == (0, 0, 0))
      #expect(try stack.writer.performAndWait { try $0.count(for: FetchRequest<Order>()) } == 0)
    }
  }

  @Test(
    "A delete that its rule denies because of a sibling's reference is refused when it comes to the store",
    arguments: [true, false], [true, false])
  func deny(flushes: Bool, inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    let (dog, cage) = try stack.writer.performAndWait { writer in
      let (dog, cage) = (Dog(context: writer), Cage(context: writer))
      try writer.save()
      return (dog.objectID, cage.objectID)
    }
    let (referring, deleting) = siblings(stack)
    try referring.performAndWait { context in
      (try context.existingObject(with: dog) as? Dog)?.cage = try context.existingObject(with: cage) as? Cage
    }
    try deleting.performAndWait { deleting in
      let empty = try #require(try deleting.existingObject(with: cage) as? Cage)
      deleting.delete(empty)
      deleting.processPendingChanges()
      #expect(empty.animals.isEmpty)
      // It goes by what it has seen.
      try referring.performAndWait { try $0.save() }
      if flushes { try stack.writer.performAndWait { try $0.save() } }
      try deleting.save()
    }
    stack.writer.performAndWait { writer in
      let error = #expect(throws: ValidationError.self) { try writer.save() }
      #expect(error?.rule == .deniedDelete && error?.property == "animals" && error?.objectID == cage)
      #expect(writer.hasChanges == true)
    }
    try stack.writer.performAndWait { writer in
      (writer.object(with: dog) as? Dog)?.cage = nil
      try writer.save()
    }
    try stack.checkInvariants()
    #expect(try stack.there.performAndWait { try $0.count(for: FetchRequest<Cage>()) } == 0)
  }

  @Test("A reference to what was deleted before it came is nil, whatever the rule", arguments: [true, false])
  func lateReference(flushes: Bool) throws {
    for inMemory in [true, false] {
      let stack = try Stack(Zoo.model, inMemory: inMemory)
      let (dog, cage) = try stack.writer.performAndWait { writer in
        let (dog, cage) = (Dog(context: writer), Cage(context: writer))
        try writer.save()
        return (dog.objectID, cage.objectID)
      }
      let (referring, deleting) = siblings(stack)
      try referring.performAndWait { context in
        (try context.existingObject(with: dog) as? Dog)?.cage = try context.existingObject(with: cage) as? Cage
      }
      try deleting.performAndWait { $0.delete(try $0.existingObject(with: cage)) }
      try save(stack, .deleteFirst, flushes: flushes, reference: referring, delete: deleting)
      let isFree = try stack.there.performAndWait { try ($0.existingObject(with: dog) as? Dog)?.cage == nil }
      #expect(isFree)
    }
  }

  @Test(
    "A reference that another root has saved does not outlive the delete, under any policy", arguments: [true, false])
  func roots(inMemory: Bool) throws {
    for policy in Self.policies {
      let stack = try Stack(People.model, inMemory: inMemory)
      stack.coordinator.mergePolicy = policy
      let (person, department) = try stack.there.performAndWait { there in
        let (person, department) = (Person(context: there), Department(context: there))
        try there.save()
        return (person.objectID, department.objectID)
      }
      try stack.here.performAndWait { here in
        here.delete(try here.existingObject(with: department))
        here.processPendingChanges()
      }
      try stack.there.performAndWait { there in
        (there.object(with: person) as? Person)?.department = there.object(with: department) as? Department
        try there.save()
      }
      let seen = try stack.here.performAndWait { here in
        let person = try here.existingObject(with: person) as? Person
        try here.save()
        return person?.department == nil
      }
      #expect(seen, "\(policy)")
      try stack.checkInvariants(stack.here)
      #expect(
        try stack.root().performAndWait { try $0.count(for: FetchRequest<Person>(format: "department = nil")) } == 1)
    }
  }

  @Test("Both ends of a link that a child deletes in one event leave nothing in the parent", arguments: [true, false])
  func bothEnds(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    let child = ManagedObjectContext(parent: stack.writer, name: "child")
    let (keeper, skill) = try child.performAndWait { child in
      let (keeper, skill) = (Keeper(context: child), Skill(context: child))
      keeper.friends = [keeper]
      keeper.addToFavourites(Dog(context: child))
      skill.title = "a"
      skill.addToKeepers(keeper)
      let second = Skill(context: child)
      second.title = "b"
      keeper.addToSkills(second)
      try child.save()
      return (keeper.objectID, skill.objectID)
    }
    try child.performAndWait { child in
      for object in try child.fetch(FetchRequest<Skill>()) { child.delete(object) }
      child.delete(child.object(with: keeper))
      child.delete(child.object(with: skill))
      try child.save()
    }
    try stack.writer.performAndWait { writer in
      _ = Badge(context: writer)
      try writer.save()
    }
    try stack.checkInvariants(child)
    #expect(try stack.there.performAndWait { try $0.count(for: FetchRequest<Badge>()) } == 1)
  }

  @Test("Undo brings a link back whose ends were deleted in one event")
  func undoOfBothEnds() throws {
    let stack = try Stack(Zoo.model)
    try stack.writer.performAndWait { writer in
      writer.undoManager = UndoManager()
      let (keeper, dog) = (Keeper(context: writer), Dog(context: writer))
      keeper.addToFavourites(dog)
      writer.processPendingChanges()
      writer.delete(keeper)
      writer.delete(dog)
      writer.processPendingChanges()
      writer.undo()
      #expect(keeper.favourites == [dog] && dog.fans == [keeper])
      try writer.save()
      #expect(keeper.favourites == [dog])
    }
    try stack.checkInvariants()
  }

  @Test(
    "A sibling's stale edit or delete of what another has deleted is dropped, whether or not it was flushed",
    arguments: [true, false], [true, false])
  func staleChanges(flushes: Bool, deletes: Bool) throws {
    for isStored in [true, false] {
      let stack = try Stack(People.model)
      let id = try stack.writer.performAndWait { writer in
        let person = Person(context: writer)
        if isStored { try writer.save() }
        return person.objectID
      }
      let (first, second) = siblings(stack)
      try second.performAndWait { second in
        let person = try #require(try second.existingObject(with: id) as? Person)
        if deletes { second.delete(person) } else { person.age = 2 }
      }
      try first.performAndWait { first in
        first.delete(try first.existingObject(with: id))
        try first.save()
      }
      if flushes { try stack.writer.performAndWait { try $0.save() } }
      try second.performAndWait { try $0.save() }
      try stack.writer.performAndWait { try $0.save() }
      try stack.checkInvariants(first, second)
      #expect(try stack.writer.performAndWait { try $0.count(for: FetchRequest<Person>()) } == 0)
    }
  }

  @Test("A child's edit of what its parent deletes, or takes back, is dropped", arguments: [true, false])
  func parentDeletes(rollsBack: Bool) throws {
    let stack = try Stack(People.model)
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    let id = stack.main.performAndWait { main in Person(context: main).objectID }
    try child.performAndWait { child in
      let person = try #require(try child.existingObject(with: id) as? Person)
      try stack.main.performAndWait { main in
        if rollsBack { main.rollback() } else { main.delete(try main.existingObject(with: id)) }
        main.processPendingChanges()
      }
      person.age = 2
      try child.save()
    }
    let left = stack.main.performAndWait { $0.hasChanges }
    #expect(!left)
    try stack.flush()
    try stack.checkInvariants(child)
  }

  @Test("What children do to an object counts again once the parent has taken back the delete that a child saved")
  func deleteTakenBack() throws {
    let stack = try Stack(People.model)
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      main.delete(try main.existingObject(with: id))
      try main.save()
    }
    stack.writer.performAndWait { $0.rollback() }
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    try child.performAndWait { child in
      (try child.existingObject(with: id) as? Person)?.age = 7
      try child.save()
    }
    try stack.main.performAndWait { try $0.save() }
    try stack.writer.performAndWait { try $0.save() }
    try stack.checkInvariants(child)
    #expect(try stack.there.performAndWait { try ($0.existingObject(with: id) as? Person)?.age } == 7)
  }

  @Test("An object whose saved delete is undone takes siblings' edits again")
  func undoneDelete() throws {
    let stack = try Stack(People.model)
    let id = try stack.savedPerson()
    let (first, second) = siblings(stack)
    try first.performAndWait { first in
      first.undoManager = UndoManager()
      first.delete(try first.existingObject(with: id))
      try first.save()
    }
    try stack.writer.performAndWait { try $0.save() }
    try first.performAndWait { first in
      first.undo()
      try first.save()
    }
    try second.performAndWait { second in
      (try second.existingObject(with: id) as? Person)?.age = 7
      try second.save()
    }
    try stack.writer.performAndWait { try $0.save() }
    try stack.checkInvariants(first, second)
    #expect(try stack.there.performAndWait { try ($0.existingObject(with: id) as? Person)?.age } == 7)
  }

  @Test(
    "A required relationship whose destination a sibling deletes makes the save fail by its name, not dangle",
    arguments: SaveOrder.allCases, [true, false])
  func required(order: SaveOrder, flushes: Bool) throws {
    let xml = """
      <model><entity name="House"><relationship name="tenants" optional="YES" toMany="YES" deletionRule="Nullify"
          destinationEntity="Tenant" inverseName="house"/></entity>
        <entity name="Tenant"><relationship name="house" maxCount="1" deletionRule="Nullify" destinationEntity="House"
          inverseName="tenants"/></entity></model>
      """
    for inMemory in [true, false] {
      let stack = try Stack(ManagedObjectModel(xml: Data(xml.utf8)), inMemory: inMemory)
      let house = try stack.writer.performAndWait { writer in
        let house = writer.insertObject(ofEntity: "House")
        try writer.save()
        return house.objectID
      }
      let (referring, deleting) = siblings(stack)
      let tenant = try referring.performAndWait { context in
        let tenant = context.insertObject(ofEntity: "Tenant")
        tenant.setValue(try context.existingObject(with: house), forKey: "house")
        return tenant.objectID
      }
      try deleting.performAndWait { $0.delete(try $0.existingObject(with: house)) }
      let error = #expect(throws: ValidationError.self) {
        try save(stack, order, flushes: flushes, reference: referring, delete: deleting)
      }
      #expect(error?.objectID == tenant && error?.property == "house" && error?.rule == .missingValue)
      try stack.writer.performAndWait { writer in
        writer.delete(try writer.existingObject(with: tenant))
        try writer.save()
      }
      try stack.checkInvariants()
    }
  }

  @Test("One-to-one relationships meet deletes as others do", arguments: SaveOrder.allCases, [true, false])
  func oneToOne(order: SaveOrder, flushes: Bool) throws {
    let xml = """
      <model><entity name="Driver"><relationship name="car" optional="YES" maxCount="1" deletionRule="Nullify"
          destinationEntity="Car" inverseName="driver"/></entity>
        <entity name="Car"><relationship name="driver" optional="YES" maxCount="1" deletionRule="Nullify"
          destinationEntity="Driver" inverseName="car"/></entity></model>
      """
    for inMemory in [true, false] {
      let stack = try Stack(ManagedObjectModel(xml: Data(xml.utf8)), inMemory: inMemory)
      let (driver, car) = try stack.writer.performAndWait { writer in
        let (driver, car) = (writer.insertObject(ofEntity: "Driver"), writer.insertObject(ofEntity: "Car"))
        try writer.save()
        return (driver.objectID, car.objectID)
      }
      let (referring, deleting) = siblings(stack)
      try referring.performAndWait { context in
        try context.existingObject(with: driver).setValue(try context.existingObject(with: car), forKey: "car")
      }
      try deleting.performAndWait { $0.delete(try $0.existingObject(with: car)) }
      try save(stack, order, flushes: flushes, reference: referring, delete: deleting)
      let isFree = try stack.there.performAndWait { try $0.existingObject(with: driver).value(forKey: "car") == nil }
      #expect(isFree)
    }
  }

  @Test("A reference in a grandparent meets the delete when it comes there", arguments: [true, false])
  func chain(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let (person, department) = try stack.writer.performAndWait { writer in
      let (person, department) = (Person(context: writer), Department(context: writer))
      try writer.save()
      return (person.objectID, department.objectID)
    }
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try worker.performAndWait { worker in
      worker.delete(try worker.existingObject(with: department))
      worker.processPendingChanges()
    }
    try stack.writer.performAndWait { writer in
      (try writer.existingObject(with: person) as? Person)?.department =
        try writer.existingObject(with: department) as? Department
    }
    try worker.performAndWait { try $0.save() }
    try stack.main.performAndWait { try $0.save() }
    let isFree = stack.writer.performAndWait { ($0.object(with: person) as? Person)?.department == nil }
    #expect(isFree)
    try stack.writer.performAndWait { try $0.save() }
    try stack.checkInvariants(worker)
  }

  @Test("A context's own reference to what it has deleted is nil after the event", arguments: [true, false])
  func ownReference(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let (person, department) = (Person(context: writer), Department(context: writer))
      try writer.save()
      writer.delete(department)
      writer.processPendingChanges()
      person.department = department
      writer.processPendingChanges()
      #expect(person.department == nil)
      try writer.checkInvariants()
      try writer.save()
    }
    try stack.checkInvariants()
  }

  @Test("Hundreds of deletes find what others let lead to them in a few statements")
  func many() throws {
    let stack = try Stack(People.model)
    let ids = try stack.there.performAndWait { there in
      let departments = (0..<300).map { _ in Department(context: there) }
      try there.save()
      return departments.map(\.objectID)
    }
    stack.here.performAndWait { here in
      for id in ids { here.delete(here.object(with: id)) }
      here.processPendingChanges()
    }
    try stack.there.performAndWait { there in
      for id in ids { Person(context: there).department = there.object(with: id) as? Department }
      try there.save()
    }
    _ = stack.statements.drain()
    try stack.here.performAndWait { try $0.save() }
    let selects = stack.statements.drain().filter { $0.sql.contains("department") && $0.sql.contains("IN (?1, ") }
    #expect(!selects.isEmpty && selects.count <= 20)
    try stack.checkInvariants(stack.here)
    #expect(
      try stack.root().performAndWait { try $0.count(for: FetchRequest<Person>(format: "department = nil")) } == 300)
  }
}
