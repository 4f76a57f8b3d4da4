import Configuration
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import ObjectModel
import Synchronization
import SystemSupport

@testable import JobDaemon

/// Main and writer contexts on a store in memory, with flusher and merger, and the events of the flusher.
final class WriterFixture: Sendable {
  /// An event without what can't be compared.
  enum Event: Equatable, Sendable {
    case durable([String])
    case storageFull
    case recovered
    case failed
  }

  let coordinator: PersistentStoreCoordinator
  let store: FailingStore
  let main: ManagedObjectContext
  let writer: ManagedObjectContext
  let flusher: Flusher
  let merger: Merger
  let waiters = ReleaseWaiters()
  let scheduler = Scheduler(agingStep: .seconds(60))
  let events: AsyncStream<Event>
  private let file = LiveFile(name: "test.json", jobCount: 1_000_000)

  /// - Parameter settings: lines of the section `[Writer]`.
  init(_ settings: String = "FlushIntervalSec=5ms") throws {
    let configuration = try Configuration.parse("[Writer]\n\(settings)\n", file: "test")
    let made = Mutex<FailingStore?>(nil)
    coordinator = PersistentStoreCoordinator(model: try BuiltInModel.merged(withModelsIn: "/nonexistent"))
    try coordinator.open(
      PersistentStoreDescription { model, ordinal in
        let store = FailingStore(model: model, ordinal: ordinal)
        made.withLock { $0 = store }
        return store
      })
    store = made.withLock { $0 }!
    writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    main = ManagedObjectContext(parent: writer, name: "main")
    let (events, continuation) = AsyncStream<Event>.makeStream()
    self.events = events
    let reports = DaemonEvents()
    reports.connect { event in
      switch event {
      case .durable(let jobs): continuation.yield(.durable(jobs.map(\.id)))
      case .storeUnwritable: continuation.yield(.storageFull)
      case .storeWritable: continuation.yield(.recovered)
      case .storeFailed: continuation.yield(.failed)
      case .flushed: break
      default: preconditionFailure("\(event)")
      }
    }
    flusher = Flusher(writer: writer, configuration: configuration.writer, waiters: waiters, events: reports)
    merger = Merger(main: main, flusher: flusher, events: reports)
  }

  /// Inserts a job in a child of main, as a worker leaves it.
  func finishedJob(_ id: String) throws -> FinishedJob {
    let child = ManagedObjectContext(parent: main, name: "child")
    let objectID = try child.performAndWait { context in
      let job = Job(context: context)
      job.id = id
      job.currentState = .completed
      try context.save()
      return job.objectID
    }
    return FinishedJob(objectID: objectID, id: id, type: "noop", state: .completed, failure: nil, file: file)
  }

  /// How many jobs the store has.
  func storedCount() throws -> Int {
    try ManagedObjectContext(coordinator: coordinator, name: "reader").performAndWait { context in
      try context.count(for: FetchRequest<Job>())
    }
  }
}

extension WriterFixture {
  /// Settings of the section `[Writer]`.
  static func settings(_ text: String) throws -> Configuration.Writer {
    try Configuration.parse("[Writer]\n\(text)\n", file: "test").writer
  }
}
