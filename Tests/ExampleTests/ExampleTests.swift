import Foundation
import TestSupport
import Testing

@Suite("The examples run, and print what their comments promise")
struct ExampleTests {
  /// What an example prints; it must end well, say nothing of errors and leave nothing behind.
  private func output(of example: String) async throws -> String {
    let folder = try TemporaryDirectory()
    let tool = try await Tool.run(example, environment: ["TMPDIR": folder.path, "HOME": folder.path])
    #expect(tool.code == 0)
    #expect(tool.errors == "")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    return tool.output
  }

  @Test("WriterMainWorkers: a worker encodes, main joins, and the writer alone brings it to the disk")
  func writerMainWorkers() async throws {
    // How long main was busy is the machine's affair; the bench has a limit for it.
    let output = try await output(of: "WriterMainWorkers")
    let time = /main was busy for \d+\.\d\d ms at most\n/
    #expect(output.firstMatch(of: time) != nil)
    #expect(
      output.replacing(time, with: "") == """
        main has saved: the writer has changes, rows on disk: 0 Image, 0 ImageBlob
        the image's ID is temporary
        the worker sees "Elephants", which is in no store yet
        the worker has encoded 5020008 bytes; the inverse is set: true
        the worker has saved: main shows "Elephants" with blob, rows on disk: 0 Image, 0 ImageBlob
        main has saved: the writer has changes, rows on disk: 0 Image, 0 ImageBlob
        the writer has saved: the writer has no changes, rows on disk: 1 Image, 1 ImageBlob
        the same ID is permanent now
        read again, the picture is the same

        """)
  }

  @Test("DefaultStack: one call sets up the stack, and a save goes one level up or to the disk")
  func defaultStack() async throws {
    #expect(
      try await output(of: "DefaultStack") == """
        too early: the default container is used before it was set up; call PersistentContainer.setUp(model:) first
        the store is DefaultStack.sqlite; set up twice, one stack: true
        main notices an insert
        saved to the store: true; sections ["Lovelace"]
        main notices an update
        one level up: main has changes: true
        all the way: main has changes: false
        one context for the task: true
        the error came through, and the number of persons is still 1

        """)
  }

  @Test("ContextPerThread: each thread has a context, its saves show in main, and a deadlock is an error")
  func contextPerThread() async throws {
    #expect(
      try await output(of: "ContextPerThread") == """
        main's executor has main's context: true
        a thread has the context "thread 1"
        another thread has the context "thread 2"
        main shows Ada Lovelace; merges: 1
        the thread has saved another name, main still shows Ada King
        main's save finds Person at version 2
        the policy "merge by property, object trump" saves it
        MergeWouldDeadlock: the save itself is done: true
        main counts 3 persons

        """)
  }

  @Test("BackgroundFetch: 101 IDs are found in the background, and used on main in two statements")
  func backgroundFetch() async throws {
    #expect(
      try await output(of: "BackgroundFetch") == """
        101 persons aged 100 to 200; the background has 0 objects
        main has 101 faults, by 0 SELECTs
        their ages add up to 15150, by 2 SELECTs
        1000 persons; number 55 is Number 944
        count: 1000
        mean: 499.5
        oldest: 999
        ObjectNotFound: <Person 101> does not exist
        its first name is gone

        """)
  }

  @Test("CancellableEditing: an editor that is let go leaves no trace, one that saves is one event")
  func cancellableEditing() async throws {
    #expect(
      try await output(of: "CancellableEditing") == """
        the importer saves
          the list on main: insert at 0
        an editor changes everything and is let go
        main has changes: false
        an editor saves
          the list on main: insert at 0
          the list on main: update at 1
        main has changes: true, in the store: 1
        the writer has changes: true, in the store: 1
        all saved, in the store: 2

        """)
  }
}
