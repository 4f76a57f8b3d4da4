import Foundation
import ObjectGraph
import ObjectGraphTesting
import Testing

@Suite("Change tracking, deletion, undo: rollback and refresh")
struct RevertingTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  @Test("Rollback gives committed values back, and takes inserted objects and what children saved out of the context")
  func rollback() throws {
    let id = try stack.savedPerson()
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try worker.performAndWait { worker in
      Person(context: worker).firstName = "Bea"
      try worker.save()
    }
    try stack.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      person.age = 99
      let inserted = Person(context: main)
      main.processPendingChanges()
      main.delete(person)
      #expect(person.isDeleted)
      main.rollback()
      #expect(person.age == 1 && !person.isDeleted && !person.hasChanges)
      #expect(inserted.managedObjectContext == nil && !inserted.isInserted)
      #expect(main.hasChanges == false)
      let names = try main.fetch(FetchRequest<Person>()).map(\.firstName)
      #expect(names == ["Ada"])
      person.age = 3
      try main.save()
    }
    try stack.writer.performAndWait { try $0.save() }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT age FROM Person") == "3")
  }

  @Test("Refresh without merging drops the object's changes only, and the next read sees the newest values")
  func refresh() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      person.age = 7
      let other = Person(context: main)
      main.processPendingChanges()
      person.lastName = "not published"
      try main.refresh(person, mergeChanges: false)
      #expect(person.isFault && !person.hasChanges)
      #expect(person.age == 1 && person.lastName == nil)
      #expect(main.insertedObjects == [other] && main.updatedObjects.isEmpty)
      person.age = 8
      try main.refresh(person, mergeChanges: true)
      #expect(person.age == 8 && person.isUpdated)
      #expect(person.changedValues() == ["age": .integer(8)])
      #expect(person.committedValues(forKeys: ["age"]) == ["age": .integer(1)])
    }
  }

  @Test("refreshAllObjects keeps transient values as refresh does, and shows what others have saved beside them")
  func transients() throws {
    let stack = try Stack(Shop.model)
    try stack.here.performAndWait { here in
      let (customer, other) = (Customer(context: here), Customer(context: here))
      customer.name = "Ada"
      try here.save()
      let id = customer.objectID
      customer.setPrimitiveValue("kept", forKey: "scratch")
      try stack.there.performAndWait { there in
        (try there.existingObject(with: id) as? Customer)?.name = "Augusta"
        try there.save()
      }
      here.refreshAllObjects()
      #expect(customer.scratch == "kept" && customer.name == "Augusta" && !customer.hasChanges)
      #expect(other.isFault)
    }
    try stack.checkInvariants(stack.here, stack.there)
  }

  @Test("A refresh that drops changes drops a new order, of links and of destinations alike", arguments: [true, false])
  func order(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let (dogs, shifts) = ((0..<3).map { _ in Dog(context: writer) }, (0..<3).map { _ in Shift(context: writer) })
      keeper.favourites = dogs
      keeper.shifts = shifts
      try writer.save()
      keeper.favourites = dogs.reversed()
      keeper.shifts = shifts.reversed()
      shifts[0].hours = 8
      try writer.refresh(keeper, mergeChanges: false)
      #expect(keeper.favourites == dogs && keeper.shifts == shifts && shifts[0].hours == 8)
      try writer.save()
      #expect(keeper.shifts == shifts)
    }
    try stack.checkInvariants()
  }

  @Test(
    "A refresh without merging brings both ends of a one-to-one relationship back, also after a delete",
    arguments: [true, false])
  func refreshOneToOne(isDeleted: Bool) throws {
    let stack = try Stack(Gallery.model, inMemory: true)
    try stack.main.performAndWait { main in
      let (image, former, other) = (Image(context: main), ImageBlob(context: main), ImageBlob(context: main))
      image.blob = former
      try main.save()
      if isDeleted { main.delete(former) } else { image.blob = other }
      main.processPendingChanges()
      #expect(isDeleted ? image.blob == nil : former.image == nil)
      try main.refresh(isDeleted ? former : image, mergeChanges: false)
      #expect(image.blob === former && former.image === image && other.image == nil)
    }
    try stack.checkInvariants()
  }

  @Test("The rollback of a child's delete gives an object its own values back, not those that the child knew")
  func childsDelete() throws {
    let child = ManagedObjectContext(parent: stack.writer, name: "child")
    try stack.writer.performAndWait { writer in
      let person = Person(context: writer)
      let id = person.objectID
      writer.processPendingChanges()
      child.performAndWait { $0.delete($0.object(with: id)) }
      person.age = 2
      try writer.save()
      try child.performAndWait { try $0.save() }
      #expect(person.isDeleted)
      writer.rollback()
      #expect(person.age == 2 && !person.isDeleted)
    }
    try stack.checkInvariants(child)
  }

  @Test("A refresh that keeps a child's change brings back none of the other values that the child knew")
  func childsChange() throws {
    let id = try stack.savedPerson()
    let (first, second) = (
      ManagedObjectContext(parent: stack.main, name: "first"), ManagedObjectContext(parent: stack.main, name: "second")
    )
    let below = ManagedObjectContext(parent: first, name: "below")
    try below.performAndWait { (try $0.existingObject(with: id) as? Person)?.firstName = "Bea" }
    try second.performAndWait { second in
      (try second.existingObject(with: id) as? Person)?.age = 7
      try second.save()
    }
    try first.performAndWait { first in
      let person = try #require(try first.existingObject(with: id) as? Person)
      #expect(person.age == 7)
      try below.performAndWait { try $0.save() }
      try first.refresh(person, mergeChanges: true)
      #expect(person.age == 7 && person.firstName == "Bea")
      try first.save()
    }
    try stack.flush()
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT firstName, age FROM Person") == "Bea|7")
    try stack.checkInvariants(first, second, below)
  }
}
