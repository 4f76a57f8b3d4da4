import Configuration
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("A hot folder")
struct HotFolderRunnerTests {
  private static let job = ManagedObjectID(key: 7, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)

  @Test("A job that ends between the look at its record and the one at the schedule is not taken for another host's")
  func secondLook() async throws {
    let root = try TemporaryDirectory()
    let file = root.path("in/a")
    for (path, text) in [
      (file, "text"), (root.path("template.json5"), "{type: 'noop'}"),
      (
        root.path("folders.d/in.conf"),
        "[Folder]\nPath=\(root.path("in"))\nJob=\(root.path("template.json5"))\nSettle=0\nAfterwards=delete\n"
      ),
    ] {
      let url = URL(filePath: path)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url)
    }
    let folder = try #require(try HotFolder.load(folder: root.path("folders.d")) { (_) throws(JobFileError) in }.first)
    // Its record is read before the end is there, and then again.
    let looks = Mutex(0)
    let accepted = Mutex(false)
    let jobs = HotFolderJobs(
      areTaken: { true },
      known: { _ in
        let look = looks.withLock { looks in
          looks += 1
          return looks
        }
        return KnownJobs.Entry(
          objectID: Self.job, state: look == 1 ? .running : .completed, failure: nil,
          origin: .init(submitter: Int64(geteuid()), type: "noop", arguments: "{}"))
      },
      isUnfinished: { _ in false },
      accept: { _, _ in
        accepted.withLock { $0 = true }
        return true
      },
      problemsDidChange: {}, log: DaemonLog(journal: Journal(identifier: "test"), level: .error))
    let isGone = Latch()
    let watcher = try DirectoryWatcher(
      Directory(path: root.path("in")), queue: DispatchQueue(label: "test"), tellsDeletion: true
    ) { events in
      // By a name that nobody else puts a file under.
      for case .deleted in events { isGone.open() }
    }
    let runner = try HotFolderRunner(folder, jobs: jobs, memories: root.path("memories"))
    runner.start()
    let wasFinished = isGone.wait(for: .seconds(60))
    runner.stop()
    runner.finish()
    watcher.stop()
    #expect(wasFinished && looks.withLock { $0 } == 2 && !accepted.withLock { $0 })
  }
}
