import ObjectGraph
import StoreTesting
import Testing

@Suite("Relationships and delete rules", .onEachStore)
struct RelationshipTests {
  @Test(
    "Setting one side of a relationship sets the other at once, so do moving and clearing",
    arguments: [true, false])
  func inverses(saveBetween: Bool) throws {
    let stack = try Stack(People.model)
    try stack.main.performAndWait { main in
      let (first, second) = (Department(context: main), Department(context: main))
      let people = (0..<3).map { _ in Person(context: main) }
      func pause(_ main: isolated ManagedObjectContext) throws {
        guard saveBetween else { return }
        try main.save()
        try stack.writer.performAndWait { try $0.save() }
        for object in [first, second] as [ManagedObject] + people { try main.refresh(object, mergeChanges: false) }
      }
      people[0].department = first
      first.addToEmployees(people[1])
      #expect(first.employees == [people[0], people[1]] && people[1].department === first)
      try pause(main)
      people[0].department = second
      #expect(first.employees == [people[1]] && second.employees == [people[0]])
      try pause(main)
      second.employees = [people[1], people[2]]
      #expect(people[0].department == nil && people[1].department === second && first.employees.isEmpty)
      try pause(main)
      second.removeFromEmployees(people[2])
      people[1].department = nil
      #expect(second.employees.isEmpty && people[2].department == nil)
      try pause(main)
      #expect(first.employees.isEmpty && second.employees.isEmpty)
    }
  }

  @Test(
    "Taking the end of a one-to-one relationship leaves its former owner without it", arguments: [true, false])
  func stealing(saveBetween: Bool) throws {
    let stack = try Stack(Gallery.model)
    try stack.main.performAndWait { main in
      let (first, second) = (Image(context: main), Image(context: main))
      let (blob, other) = (ImageBlob(context: main), ImageBlob(context: main))
      func pause(_ main: isolated ManagedObjectContext) throws {
        guard saveBetween else { return }
        try main.save()
        try stack.writer.performAndWait { try $0.save() }
        for object in [first, second, blob, other] as [ManagedObject] { try main.refresh(object, mergeChanges: false) }
      }
      first.blob = blob
      other.image = second
      try pause(main)
      second.blob = blob
      #expect(first.blob == nil && blob.image === second && other.image == nil)
      try pause(main)
      first.blob = other
      other.image = second
      #expect(first.blob == nil && second.blob === other && blob.image == nil)
      try pause(main)
      second.blob = nil
      #expect(other.image == nil)
    }
  }

  @Test("A child's relationship changes reach the parent's objects with their inverses")
  func relationshipsFromChildren() throws {
    let stack = try Stack(People.model)
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try stack.main.performAndWait { main in
      let department = Department(context: main)
      let person = Person(context: main)
      person.department = department
      #expect(department.employees == [person])
      main.processPendingChanges()
      let (departmentID, personID) = (department.objectID, person.objectID)
      try worker.performAndWait { worker in
        let department = try #require(worker.object(with: departmentID) as? Department)
        #expect(department.employees.map(\.objectID) == [personID])
        department.employees = [Person(context: worker)]
        try worker.save()
      }
      main.processPendingChanges()
      #expect(person.department == nil)
      #expect(department.employees.count == 1 && department.employees.first?.department === department)
    }
  }

  private func pair(_ image: ManagedObjectID, _ blob: ManagedObjectID, _ context: isolated ManagedObjectContext) throws
  {
    let image = try context.existingObject(with: image) as? Image
    image?.blob = try context.existingObject(with: blob) as? ImageBlob
  }

  @Test(
    "A child that relates an object one to one otherwise than its parent parts the parent's pair at both ends",
    arguments: [true, false], [true, false])
  func oneToOne(isOtherEnd: Bool, flushes: Bool) throws {
    let stack = try Stack(Gallery.model, inMemory: !flushes)
    let (writer, main) = (stack.writer, stack.main)
    let (images, blobs) = try writer.performAndWait { writer in
      let images = [Image(context: writer), Image(context: writer)].map(\.objectID)
      let blobs = [ImageBlob(context: writer), ImageBlob(context: writer)].map(\.objectID)
      try writer.save()
      return (images, blobs)
    }
    try main.performAndWait { try pair(images[isOtherEnd ? 1 : 0], blobs[isOtherEnd ? 0 : 1], $0) }
    try writer.performAndWait { try pair(images[0], blobs[0], $0) }
    if flushes { try writer.performAndWait { try $0.save() } }
    try main.performAndWait { try $0.save() }
    if flushes { try writer.performAndWait { try $0.save() } }
    // A fresh context sees what is pending, and what is stored.
    try (flushes ? stack.there : writer).performAndWait { writer in
      let pairs = try writer.fetch(FetchRequest<Image>()).filter { $0.blob != nil }
      #expect(pairs.count == 1 && pairs[0].blob?.image === pairs[0])
      #expect(try writer.fetch(FetchRequest<ImageBlob>()).filter { $0.image != nil } == pairs.compactMap(\.blob))
      try writer.save()
    }
    try stack.checkInvariants()
  }

  @Test(
    "A value that is set replaces what the same event has deleted, whether the relationship was read before or not",
    arguments: [true, false])
  func deletedDestinations(isRead: Bool) throws {
    let house = EntityDescription(
      "House", relationships: [RelationshipDescription("rooms", to: "Room", inverse: "house", isToMany: true)])
    let room = EntityDescription(
      "Room", relationships: [RelationshipDescription("house", to: "House", inverse: "rooms", deleteRule: .cascade)])
    let stack = try Stack(ManagedObjectModel([house, room]))
    try stack.main.performAndWait { main in
      let house = main.insertObject(ofEntity: "House")
      let rooms = [main.insertObject(ofEntity: "Room"), main.insertObject(ofEntity: "Room")]
      house.setValue(Set(rooms), forKey: "rooms")
      try main.save()
      main.refreshAllObjects()
      if isRead { #expect((house.value(forKey: "rooms") as? Set<ManagedObject>)?.count == 2) }
      main.delete(rooms[0])
      house.setValue(Set([rooms[1]]), forKey: "rooms")
      main.processPendingChanges()
      // The deleted room does not lead to the house any more, so the house does not go with it.
      #expect(rooms[0].isDeleted && !house.isDeleted && !rooms[1].isDeleted)
      try main.save()
    }
    try stack.checkInvariants()
  }
}
