import Foundation
import ObjectGraph
import ObjectGraphTesting
import PostgresTesting
import StoreTesting
import TestSupport
import Testing

@Suite("A save by the container", .onEachStore)
struct ContainerSaveTests {
  @Test("8: save never runs its block on main; when it returns, rows are on disk and main sees them")
  func saving() async throws {
    let fixture = try ContainerFixture(executor: .main)
    let id = try await fixture.insertPerson(8)
    let held = await fixture.main.perform { main in
      main.retainsRegisteredObjects = true
      return (main.object(with: id) as? Person)?.age
    }
    #expect(held == 8)
    try await fixture.container.save { context in
      #expect(!ContextExecutor.main.isCurrent)
      #expect(!fixture.main.executor.isCurrent)
      (context.object(with: id) as? Person)?.age = 9
      Person(context: context).age = 10
    }
    #expect(try fixture.shell("SELECT age FROM Person ORDER BY age") == "9\n10")
    try await fixture.main.perform { main in
      #expect((main.registeredObject(for: id) as? Person)?.age == 9)
      let count = try main.count(for: FetchRequest<Person>())
      #expect(count == 2)
      let hasChanges = main.hasChanges
      #expect(!hasChanges)
    }
  }

  @Test("Saving in the background leaves what main has not saved unsaved, and a block that throws saves nothing")
  func savingAndEdits() async throws {
    let fixture = try ContainerFixture()
    await fixture.main.perform { Person(context: $0).age = 1 }
    _ = try await fixture.insertPerson(2)
    #expect(try fixture.shell("SELECT age FROM Person") == "2")
    await #expect(throws: CancellationError.self) {
      try await fixture.container.save { context in
        Person(context: context).age = 3
        throw CancellationError()
      }
    }
    #expect(try fixture.shell("SELECT age FROM Person") == "2")
  }

  @Test(
    "What the store refuses is gone from all levels: other saves pass, and the same one can be made once more",
    .onlyOnSQLite("its faults are those of a file"))
  func refusedSave() async throws {
    let fixture = try ContainerFixture()
    fixture.faults.fail(with: .full, at: .commit)
    let save = { @Sendable in
      try await fixture.container.save { Person(context: $0).age = 1 }
    }
    let error = await #expect(throws: StoreError.self) { try await save() }
    #expect(error?.code == .full)
    for context in [fixture.root, fixture.main] {
      #expect(try await context.perform { try $0.count(for: FetchRequest<Person>()) } == 0)
      #expect(await context.perform { !$0.hasChanges })
    }
    _ = try await fixture.insertPerson(2)
    try await save()
    #expect(try fixture.shell("SELECT age FROM Person ORDER BY age") == "1\n2")
  }

  @Test(
    "Of saves at the same time one that is refused takes none along, and nothing is lost that was computed from what was read",
    .onlyOnSQLite("its faults are those of a file"))
  func concurrentSaves() async throws {
    let fixture = try ContainerFixture()
    let id = try await fixture.insertPerson(0)
    let container = fixture.container
    fixture.faults.fail(with: .full, at: .commit, after: 3, times: 10)
    let refusals = Recorder<Bool>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<30 {
        group.addTask {
          var isDone = false
          while !isDone {
            do {
              try await container.save { context in
                guard let person = context.object(with: id) as? Person else { return }
                context.detectConflicts(for: person)
                person.age += 1
              }
              isDone = true
            } catch is SaveConflicts {
            } catch let error as StoreError where error.code == .full {
              refusals.append(true)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try fixture.shell("SELECT age FROM Person") == "30")
    #expect(refusals.all.count == 10)
  }

  @Test(
    "What somebody else saves into the root meanwhile is not dropped with what is refused",
    .onlyOnSQLite("its faults are those of a file"))
  func refusedSaveBesideAnother() async throws {
    let fixture = try ContainerFixture()
    let id = try await fixture.insertPerson(1)
    let other = fixture.container.newChildOfRootContext(name: "other")
    // Between the save of the child and that of the root, in which the disk is full.
    let observation = fixture.root.observe { event in
      guard case .willSave = event else { return }
      other.performAndWait { other in
        (other.object(with: id) as? Person)?.firstName = "Ada"
        #expect(throws: Never.self) { try other.save() }
      }
    }
    fixture.faults.fail(with: .full, at: .commit)
    await #expect(throws: StoreError.self) {
      try await fixture.container.save { ($0.object(with: id) as? Person)?.age = 2 }
    }
    observation.cancel()
    try await fixture.root.saveOnlySelf()
    #expect(try fixture.shell("SELECT firstName FROM Person") == "Ada")
  }
}
