import Configuration
import JSONText
import Jobs
import ObjectGraph
import Synchronization

/// One attempt at a job of a declared type, on the executor of its context: what its program says, and what comes of it.
actor ProgramRun {
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
  private var report = ProgramReport()

  /// Throws ``AttemptHold`` if a newer release has stored the job's progress.
  init(_ execution: JobExecution, launch: ProcessLaunch, coordinator: PersistentStoreCoordinator) throws {
    unownedExecutor = execution.context.executor.asUnownedSerialExecutor()
    self.launch = launch
    self.coordinator = coordinator
    self.execution = execution
    log = AttemptLog(limit: launch.definition.logSizeMax)
    parser = OutputParser(lineLimit: launch.definition.outputLineMax)
    values = EntityValues(coordinator.model)
    cursor = ProcessCursor()
    if let stored = execution.cursor {
      guard let known = ProcessCursor(stored) else { throw AttemptHold.unreadableProgress(stored) }
      cursor = known
    }
  }

  // MARK: The attempt

  func run() async throws -> JSONValue {
    if cursor.isReverting {
      // The daemon ended while it reverted a failed attempt.
      try await revert()
      cursor = ProcessCursor()
    }
    try Task.checkCancellation()
    let document = try await JobDocument(execution, cursor: cursor.text)
    // Reading may have taken so long that another host has the job.
    try Task.checkCancellation()
    let peer: any ProgramPeer =
      if let socket = launch.definition.socket {
        try ServiceConnection(socket, document, log: log)
      } else {
        try ProgramProcess(launch, document, log: log)
      }
    execution.keepLog { [log] in log.text }
    return try await converse(with: peer)
  }

  private func converse(with peer: any ProgramPeer) async throws -> JSONValue {
    let mistake = await withTaskCancellationHandler {
      await listen(to: peer)
    } onCancel: {
      peer.stop()
    }
    let end = try await peer.end()
    try Task.checkCancellation()
    let lastLines = log.lastLines
    // A program that failed by itself may have done so in the middle of a message.
    if !peer.isStopped, let failure = end.failure(report, lastLines: lastLines) { throw failure }
    if let mistake = mistake as? OutputError { throw end.failure(mistake, lastLines: lastLines) }
    if let mistake { throw mistake }
    return report.result ?? .object([:])
  }

  // MARK: What the program says

  /// Reads the output to its end, and obeys its messages until the first that is wrong, which ends the program.
  ///
  /// - Returns: what was wrong.
  private func listen(to peer: any ProgramPeer) async -> (any Error)? {
    var mistake: (any Error)?
    while let bytes = await peer.next() {
      // A program that is to end must not wait for a reader.
      if mistake != nil || peer.isStopped {
        log.append(bytes)
        continue
      }
      do { try await obey(bytes) } catch {
        mistake = error
        peer.stop()
      }
    }
    guard mistake == nil, !peer.isStopped else { return mistake }
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
    if case .message(let message, _, _) = item { report.note(message) }
    switch item {
    case .text(let bytes): log.append(bytes)
    case .message(.progress(let progress), _, _): execution.progress = progress
    case .message(.log(let text), _, _): log.append(Array("\(text)\n".utf8))
    case .message(.result, _, _), .message(.failure, _, _): break
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

/// The log of an attempt, to which several may write at once.
final class AttemptLog: Sendable {
  private let captured: Mutex<CapturedLog>

  init(limit: Int) { captured = Mutex(CapturedLog(limit: limit)) }

  var text: String { captured.withLock { $0 }.text }
  var lastLines: [String] { captured.withLock { $0 }.lastLines() }

  func append(_ bytes: [UInt8]) { captured.withLock { $0.append(bytes) } }
}
