import Configuration
import Foundation
import JSONText
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// One attempt at a job of a declared type, on the executor of its context: a child process and what it says.
actor ProcessRun {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let launch: ProcessLaunch
  private let coordinator: PersistentStoreCoordinator
  private let execution: JobExecution
  private let log: AttemptLog
  private var parser: OutputParser
  private var values: EntityValues
  private var cursor: ProcessCursor
  /// Objects that are checked and not yet in the context.
  private var inserts: [EntityValues.Checked] = []
  private var insertedBytes = 0
  private var result = JSONValue.object([:])
  private var reported: JobFailure?

  init(_ execution: JobExecution, launch: ProcessLaunch, coordinator: PersistentStoreCoordinator) {
    unownedExecutor = execution.context.executor.asUnownedSerialExecutor()
    self.launch = launch
    self.coordinator = coordinator
    self.execution = execution
    log = AttemptLog(limit: launch.definition.logSizeMax)
    parser = OutputParser(lineLimit: launch.definition.outputLineMax)
    values = EntityValues(coordinator.model)
    cursor = execution.cursor.flatMap { ProcessCursor($0) } ?? ProcessCursor()
  }

  // MARK: The attempt

  func run() async throws -> JSONValue {
    if cursor.isReverting {
      // The daemon ended while it reverted a failed attempt.
      try await revert()
      cursor = ProcessCursor()
    }
    try Task.checkCancellation()
    let started = try start(try await JobDocument(execution, cursor: cursor.text))
    execution.keepLog { [log] in log.text }
    return try await converse(started)
  }

  /// A child at work, and the other ends of its pipes.
  private struct Started: Sendable {
    let child: ChildProcess
    let output: PipeReader
    let errors: PipeReader
  }

  private func start(_ document: JobDocument) throws -> Started {
    var launch = launch.launch(for: document)
    do throws(SystemError) {
      // A file, not a pipe: it needs no feeding, and a program that reads none of it blocks nothing.
      let input = try FileDescriptor.inMemory(named: "job")
      try input.writeAll(Data(document.bytes))
      let source = try FileDescriptor.open("/proc/self/fd/\(input.number)")
      let output = try FileDescriptor.pipe()
      let errors = try FileDescriptor.pipe()
      launch.descriptors = [0: source.number, 1: output.second.number, 2: errors.second.number]
      let child = try ChildProcess.start(launch)
      // The child has its own copies of the writing ends; ours go here, so that the pipes can end.
      return Started(
        child: child, output: try output.split { (ours, _) throws(SystemError) in try PipeReader(ours) },
        errors: try errors.split { (ours, _) throws(SystemError) in try PipeReader(ours) })
    } catch {
      let words = "the program \(displayName(launch.executable)) can't be started: \(launch.explaining(error))"
      // What the job itself has put into the command is too long, or can't be there.
      let isOfJob = error.code == .argumentsTooLong || error.code == .invalidArgument
      if !isOfJob, !error.isShortage { throw HostFault(words) }
      var failure = JobFailure(words, isPermanent: false)
      failure.isShortage = error.isShortage
      throw failure
    }
  }

  private func converse(_ started: Started) async throws -> JSONValue {
    let watch = watch(started)
    let logging = Task(executorPreference: WorkQueues.tasks) { [log] in
      while let bytes = await started.errors.next() { log.append(bytes) }
    }
    let mistake = await withTaskCancellationHandler {
      await listen(started.output, watch)
    } onCancel: {
      watch.cancel()
    }
    let outcome = await watch.result
    await logging.value
    try Task.checkCancellation()
    let process = ProcessEnd(
      definition: launch.definition, termination: try ended(outcome), lastLines: log.lastLines,
      reported: reported)
    // A program that failed by itself may have done so in the middle of a message.
    if !watch.isCancelled, let failure = process.failure { throw failure }
    if let mistake = mistake as? OutputError { throw process.failure(mistake) }
    if let mistake { throw mistake }
    return result
  }

  private func ended(_ outcome: Result<Termination, any Error>) throws -> Termination {
    do { return try outcome.get() } catch {
      throw JobFailure(
        "the program \(displayName(launch.definition.command.executable)) can't be ended: \(error)", isPermanent: false
      )
    }
  }

  /// Waits for the child's end; when the task is cancelled, ends it with its group.
  private nonisolated func watch(_ started: Started) -> Task<Termination, any Error> {
    let grace = launch.definition.killGrace
    return Task(executorPreference: WorkQueues.tasks) {
      // What the child wrote is in the pipes by then.
      defer {
        started.output.finish()
        started.errors.finish()
      }
      do { return try await started.child.termination() } catch is CancellationError {}
      // A task of its own, as a cancelled one waits for nothing.
      let end = Task(executorPreference: WorkQueues.tasks) { try await started.child.stop(grace: grace) }
      return try await end.value
    }
  }

  // MARK: What the program says

  /// Reads the output to its end, and obeys its messages until the first that is wrong, which ends the child.
  ///
  /// - Returns: what was wrong.
  private func listen(_ output: PipeReader, _ watch: Task<Termination, any Error>) async -> (any Error)? {
    var mistake: (any Error)?
    while let bytes = await output.next() {
      // A child that is to end must not wait for a reader.
      if mistake != nil || watch.isCancelled {
        log.append(bytes)
        continue
      }
      do { try await obey(bytes) } catch {
        mistake = error
        watch.cancel()
      }
    }
    guard mistake == nil, !watch.isCancelled else { return mistake }
    do { try await obeyLast() } catch { mistake = error }
    return mistake
  }

  private func obey(_ bytes: [UInt8]) async throws {
    try await obey { (parser, emit) throws(OutputError) in try parser.read(bytes, emit) }
  }

  private func obeyLast() async throws {
    try await obey { (parser, emit) throws(OutputError) in try parser.finish(emit) }
  }

  /// Obeys what the parser finds, also what came before a mistake.
  private func obey(
    _ parse: (inout OutputParser, (OutputParser.Item) -> Void) throws(OutputError) -> Void
  ) async throws {
    var items: [OutputParser.Item] = []
    var mistake: OutputError?
    do throws(OutputError) { try parse(&parser) { items.append($0) } } catch { mistake = error }
    for item in items { try await obey(item) }
    try await insertChecked()
    if let mistake { throw mistake }
  }

  private func obey(_ item: OutputParser.Item) async throws {
    switch item {
    case .text(let bytes): log.append(bytes)
    case .message(.progress(let progress), _, _): execution.progress = progress
    case .message(.log(let text), _, _): log.append(Array("\(text)\n".utf8))
    case .message(.result(let value), _, _): result = value
    case .message(.failure(let failure), _, _): reported = failure
    case .message(.insert(let objects), let line, let byteCount):
      insertedBytes += byteCount
      if insertedBytes > launch.definition.insertSizeMax {
        throw OutputError(
          line: line,
          message: "more than \(launch.definition.insertSizeMax) bytes of inserts without a checkpoint; write "
            + "checkpoints, or see InsertSizeMax")
      }
      for object in objects { inserts.append(try values.check(object, line: line)) }
    case .message(.checkpoint(let text), _, _):
      try await insertChecked()
      cursor.text = text
      insertedBytes = 0
      try await execution.checkpoint(cursor.stored)
    }
  }

  /// Inserts the checked objects into the context.
  private func insertChecked() async throws {
    if inserts.isEmpty { return }
    let objects = inserts
    inserts = []
    let keys = try await execution.context.perform { context in
      try objects.map { checked throws in
        let object = context.insertObject(ofEntity: checked.entity.name)
        for (name, value) in checked.values { object.setValue(value, forKey: name) }
        do { try object.validateForInsert() } catch { throw OutputError(line: checked.line, message: "\(error)") }
        return object.objectID.key
      }
    }
    for (object, key) in zip(objects, keys) { cursor.note(key, of: object.entity.name) }
  }

  // MARK: Taking back

  /// Deletes what checkpoints have saved, piece by piece, with the cursor going back.
  func revert() async throws {
    while let (name, keys) = cursor.popObjects(atMost: 1000) {
      // An entity whose model is gone keeps its rows.
      guard let entity = coordinator.model.entitiesByName[name] else { continue }
      let ordinal = coordinator.ordinal
      try await execution.context.perform { context in
        for key in keys {
          let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: ordinal)
          do { context.delete(try context.existingObject(with: id)) } catch is ObjectNotFound {
            // Somebody else has deleted it already.
          }
        }
      }
      try await execution.checkpoint(cursor.stored)
    }
  }
}

/// The log of an attempt, to which two pipes are written at once.
final class AttemptLog: Sendable {
  private let captured: Mutex<CapturedLog>

  init(limit: Int) { captured = Mutex(CapturedLog(limit: limit)) }

  var text: String { captured.withLock { $0 }.text }
  var lastLines: [String] { captured.withLock { $0 }.lastLines() }

  func append(_ bytes: [UInt8]) { captured.withLock { $0.append(bytes) } }
}
