import Dispatch
import Foundation
import ObjectGraph
import ObjectGraphTesting
import TestSupport
import Testing

@Suite("Notifications and merging")
struct NotificationTests: Neighbours {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  @Test("Per save there is one will-save, one did-save with objects and one with IDs, for observers and in a sequence")
  func notificationsPerSave() async throws {
    let events = EventRecorder(here)
    let stream = here.events()
    let id = try here.performAndWait { here in
      let observation = here.observe { event in
        guard case .didSave(let save) = event else { return }
        here.assumeIsolated { here in
          #expect(save.insertedObjects(in: here).map(\.objectID) == save.insertedObjectIDs)
          #expect((save.insertedObjects(in: here).first as? Person)?.age == 4)
        }
      }
      defer { observation.cancel() }
      let person = Person(context: here)
      person.age = 4
      try here.save()
      return person.objectID
    }
    #expect(events.kinds == ["didChange", "willSave", "didSave", "didSaveObjectIDs"])
    #expect(events.allCameOnExecutor)
    var kinds: [String] = []
    for await event in stream {
      if case .didSaveObjectIDs(let save) = event {
        #expect(save.insertedObjectIDs == [id] && save.updatedObjectIDs.isEmpty && save.deletedObjectIDs.isEmpty)
        #expect(save.contextName == "here" && save.isRoot)
        kinds.append("didSaveObjectIDs")
        break
      }
      if case .didSave(let save) = event {
        #expect(save.insertedObjectIDs == [id])
        kinds.append("didSave")
      }
    }
    #expect(kinds == ["didSave", "didSaveObjectIDs"])
  }

  @Test("A did-save hands over the inserted, updated and deleted objects themselves, with their values")
  func objectsOfSaves() throws {
    let (updated, deleted, unseen) = (try savedPerson("Ada"), try savedPerson("Bea"), try savedPerson("Cy"))
    let child = ManagedObjectContext(parent: here, name: "child")
    try child.performAndWait { child in
      child.delete(child.object(with: unseen))
      try child.save()
    }
    let names = Recorder<[String?]>()
    let observation = here.observe { event in
      guard case .didSave(let save) = event else { return }
      here.assumeIsolated { here in
        for objects in [save.insertedObjects(in: here), save.updatedObjects(in: here), save.deletedObjects(in: here)] {
          names.append(objects.map { ($0 as? Person)?.firstName }.sorted { $0 ?? "" < $1 ?? "" })
        }
        #expect(save.deletedObjects(in: here).allSatisfy { $0.managedObjectContext == nil })
      }
    }
    try here.performAndWait { here in
      Person(context: here).firstName = "Dan"
      (here.object(with: updated) as? Person)?.firstName = "Eve"
      let gone = here.object(with: deleted)
      here.delete(gone)
      try here.save()
      #expect(gone.managedObjectContext == nil)
    }
    #expect(names.all == [["Dan"], ["Eve"], ["Bea", "Cy"]])
    observation.cancel()
  }

  @Test("Observers are called synchronously on the context's executor, sequences get the same events, in order")
  func delivery() async throws {
    let events = EventRecorder(here)
    var sequence = here.events().makeAsyncIterator()
    try await here.perform { here in
      Person(context: here).age = 1
      here.processPendingChanges()
      #expect(events.kinds == ["didChange"])
      try here.save()
      #expect(events.kinds == ["didChange", "willSave", "didSave", "didSaveObjectIDs"])
      here.reset()
    }
    #expect(events.allCameOnExecutor)
    for expected in events.all {
      let event = try #require(await sequence.next())
      #expect("\(event)".prefix { $0 != "(" } == "\(expected)".prefix { $0 != "(" })
    }
  }

  @Test("An observation ends when it is cancelled or dropped, a sequence when its task is")
  func endOfObservation() async throws {
    let seen = Recorder<String>()
    let kept = here.observe { _ in seen.append("kept") }
    _ = here.observe { _ in seen.append("dropped") }
    let cancelled = here.observe { _ in seen.append("cancelled") }
    cancelled.cancel()
    let reader = Task { [here] in for await _ in here.events() {} }
    reader.cancel()
    try await withTimeout { await reader.value }
    await here.perform { Person(context: $0).age = 1 }
    #expect(seen.all == ["kept"])
    withExtendedLifetime(kept) {}
  }

  @Test(
    "mergeChanges(fromContextDidSave:) refreshes updated, faults in inserted and deletes deleted objects, without SQL")
  func merge() throws {
    let (updated, deleted) = (try savedPerson("Ada", age: 1), try savedPerson("Bea", age: 2))
    try here.performAndWait { here in
      let person = try #require(here.existingObject(with: updated) as? Person)
      let gone = try #require(here.existingObject(with: deleted) as? Person)
      let save = try didSave(in: there) { there in
        (there.object(with: updated) as? Person)?.age = 10
        there.delete(there.object(with: deleted))
        Person(context: there).age = 30
      }
      let inserted = try #require(save.insertedObjectIDs.first)
      #expect(person.age == 1)
      let events = EventRecorder(here)
      let observation = here.observe { event in
        guard case .didChange(let change) = event else { return }
        here.assumeIsolated { here in
          #expect(change.insertedObjectIDs.allSatisfy { here.registeredObject(for: $0)?.isFault == true })
        }
      }
      let statements = stack.statementCount {
        here.mergeChanges(fromContextDidSave: save)
        #expect(person.age == 10)
        #expect(gone.managedObjectContext == nil && gone.age == 2)
      }
      #expect(statements == 0)
      observation.cancel()
      #expect(events.kinds == ["didChange"])
      let change = try #require(events.didChanges.first)
      #expect(change.insertedObjectIDs == [inserted] && change.updatedObjectIDs == [updated])
      #expect(change.deletedObjectIDs == [deleted])
      #expect((here.object(with: inserted) as? Person)?.age == 30)
      #expect(here.hasChanges == false)
      #expect(here.registeredObject(for: deleted) == nil)
    }
  }

  @Test("A merge ignores the receiver's own saves, those of other coordinators, and those below another parent")
  func ignored() throws {
    let id = try savedPerson()
    let own = try didSave(in: here) { ($0.object(with: id) as? Person)?.age = 2 }
    let foreign = try Stack(People.model)
    let foreignSave = try didSave(in: foreign.root()) { Person(context: $0).age = 1 }
    let child = ManagedObjectContext(parent: there, name: "child")
    let childSave = try didSave(in: child) { ($0.object(with: id) as? Person)?.age = 3 }
    let events = EventRecorder(here)
    here.performAndWait { here in
      for save in [own, foreignSave, childSave] { here.mergeChanges(fromContextDidSave: save) }
    }
    #expect(events.all.isEmpty)
    #expect(age(id, in: here) == 2)
    // The parent that the child saved into has its changes already, and keeps them.
    there.performAndWait { there in
      there.mergeChanges(fromContextDidSave: childSave)
      #expect(there.updatedObjects.map(\.objectID) == [id])
    }
    #expect(age(id, in: there) == 3)
  }

  @Test(
    "mergeChanges(fromRemoteContextSave:into:) takes IDs or URIs and several contexts, parents and children",
    arguments: [false, true])
  func remoteSave(asURIs: Bool) async throws {
    let (updated, dirty, deleted) = (try savedPerson("Ada"), try savedPerson("Cy"), try savedPerson("Bea"))
    let child = ManagedObjectContext(parent: here, name: "child")
    let contexts = [child, here, there]
    let held = Held()
    for context in contexts {
      context.performAndWait { context in
        held.objects += [updated, deleted].map { context.object(with: $0) }
        for object in held.objects.suffix(2) { _ = (object as? Person)?.age }
      }
    }
    here.performAndWait { ($0.object(with: dirty) as? Person)?.age = 50 }
    _ = try SQLiteShell(path: stack.storePath).run(
      """
      UPDATE Person SET age = 9, firstName = 'Zoe', _version = _version + 1 WHERE _key IN (\(updated.key), \(dirty.key));
      DELETE FROM Person WHERE _key = \(deleted.key);
      """)
    let events = contexts.map { EventRecorder($0) }
    func uris(_ ids: [ManagedObjectID]) -> [URL] { ids.compactMap(\.uriRepresentation) }
    let save =
      asURIs
      ? RemoteContextSave(updatedURIs: uris([updated, dirty]), deletedURIs: uris([deleted]))
      : RemoteContextSave(updated: [updated, dirty], deleted: [deleted])
    await ManagedObjectContext.mergeChanges(fromRemoteContextSave: save, into: contexts)
    for (context, events) in zip(contexts, events) {
      #expect(age(updated, in: context) == 9)
      #expect(age(dirty, in: context) == (context === there ? 9 : 50))
      try context.performAndWait { context in
        let name = try #require(context.object(with: dirty) as? Person).firstName
        #expect(name == "Zoe")
        #expect(context.registeredObject(for: deleted) == nil)
      }
      #expect(events.didChanges.first?.deletedObjectIDs == [deleted])
      #expect(events.allCameOnExecutor)
    }
    // Properties that both changed wait for the policy, as after any merge.
    here.performAndWait { here in
      #expect(throws: SaveConflicts.self) { try here.save() }
      here.mergePolicy = .mergeByPropertyObjectTrump
      #expect(throws: Never.self) { try here.save() }
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT group_concat(age) FROM Person") == "9,50")
  }

  private final class Held: @unchecked Sendable {
    // @unchecked: changed by the test's thread, while it waits in a context's block.
    var objects: [ManagedObject] = []
  }

  @Test("Unsaved edits of the receiver survive a merge on its executor, and the same save merged twice does nothing")
  func receiversEdits() throws {
    let id = try savedPerson()
    here.performAndWait { ($0.object(with: id) as? Person)?.age = 50 }
    let save = try didSave(in: there) { there in
      (there.object(with: id) as? Person)?.age = 9
      (there.object(with: id) as? Person)?.lastName = "King"
    }
    let events = EventRecorder(here)
    for _ in 0..<2 { here.performAndWait { $0.mergeChanges(fromContextDidSave: save) } }
    try here.performAndWait { here in
      let person = here.object(with: id) as? Person
      #expect(person?.age == 50 && person?.lastName == "King" && person?.isUpdated == true)
      try here.checkInvariants()
    }
    #expect(events.allCameOnExecutor)
  }

  @Test("A reset reports invalidated-all with the IDs of the objects that were in memory")
  func reset() throws {
    let (held, changed) = (try savedPerson(), try savedPerson())
    let events = EventRecorder(here)
    here.performAndWait { here in
      let person = here.object(with: held)
      (here.object(with: changed) as? Person)?.age = 7
      here.reset()
      #expect(person.managedObjectContext == nil && !here.hasChanges && here.registeredObjects.isEmpty)
    }
    let resets = events.all.compactMap { if case .didReset(let reset) = $0 { Set(reset.objectIDs) } else { nil } }
    #expect(resets == [[held, changed]])
    #expect(age(changed, in: here) == 1)
  }
}
