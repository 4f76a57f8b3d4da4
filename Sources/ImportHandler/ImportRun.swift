import Configuration
import JSONText
import Jobs
import ObjectGraph
import ObjectModel
import RecordInput
import SystemSupport

/// One attempt at an import, on the executor of its context.
actor ImportRun {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  let execution: JobExecution
  let arguments: ImportArguments
  let coordinator: PersistentStoreCoordinator
  let settings: Configuration.Import
  let path: String
  let records: ImportRecords

  init(
    _ execution: JobExecution, _ arguments: ImportArguments, coordinator: PersistentStoreCoordinator,
    settings: Configuration.Import
  ) {
    unownedExecutor = execution.context.executor.asUnownedSerialExecutor()
    self.execution = execution
    self.arguments = arguments
    self.coordinator = coordinator
    self.settings = settings
    path = execution.absolutePath(arguments.input.path)
    records = ImportRecords(execution.objectID, coordinator)
  }

  func run() async throws -> JSONValue {
    let head = try readHead()
    if arguments.isTrial { return try await dryRun(head) }
    var cursor = try await begin(head)
    if cursor.phase == .reverting {
      // The daemon ended while it reverted a failed attempt.
      try await revert(from: cursor)
      cursor = head.start
    }
    if cursor.phase != .done {
      guard cursor.inputSize == head.start.inputSize, cursor.inputTime == head.start.inputTime else {
        throw JobFailure(
          "the input \(displayName(path)) is not the file that the import began with\(head.plan.leftover)")
      }
      cursor = arguments.isAtomic ? try await importAtOnce(head, cursor) : try await importInChunks(head, cursor)
    }
    try await endRecords(cursor)
    return result(cursor, head)
  }

  /// The facts from the input's beginning.
  struct Head: Sendable {
    let submitter: UserIdentity
    let plan: ImportPlan
    let start: ImportCursor
    let form: InputForm
  }

  private func readHead() throws -> Head {
    let submitter = try execution.submitterIdentity()
    let input = try ImportInput(arguments.input.path, of: execution, for: submitter, options)
    let form = input.source.form
    let names = input.source.columnNames ?? (0..<(input.source.fieldCount ?? 0)).map { "\($0 + 1)" }
    if form.isDelimited, form.hasHeader, input.source.columnNames == nil {
      throw JobFailure("the input \(displayName(path)) is empty; it should begin with the names of its columns")
    }
    let header = form.isDelimited && form.hasHeader ? form.record(names) : nil
    let plan = try ImportPlan(arguments, names: names, header: header, form: form, input: displayName(path))
    return Head(
      submitter: submitter, plan: plan,
      start: ImportCursor(position: input.source.start, inputSize: input.size, inputTime: input.modificationTime),
      form: form)
  }

  private var options: InputOptions { arguments.inputOptions(settings) }

  /// Opens the input at the place of a cursor.
  func open(_ head: Head, at position: RecordPosition) throws -> ImportInput {
    var input = try ImportInput(arguments.input.path, of: execution, for: head.submitter, options)
    try input.go(to: position)
    return input
  }

  /// Reads the cursor of an earlier attempt; everything that earlier jobs have saved is on disk then.
  private func begin(_ head: Head) async throws -> ImportCursor {
    if let cursor = try coordinator.openStore().read({ try records.cursor($0) }) { return cursor }
    var cursor = head.start
    // From a release that stored the cursor with the job.
    if let old = execution.cursor.flatMap(ImportCursor.init) { cursor = old }
    // From here on, cancelling the job means to revert something.
    if execution.cursor == nil { try await execution.checkpoint(#"{"version": 2}"#) }
    try await execution.waitUntilDurable()
    if cursor == head.start { try await writer(head, cursor).removeRejects(of: records) }
    return cursor
  }

  func writer(
    _ head: Head, _ cursor: ImportCursor,
    onProgress: @escaping @Sendable (ChunkWriter) throws -> Void = { _ in }
  ) -> ImportWriter {
    let execution = execution
    return ImportWriter(
      execution.context, ChunkWriter(head.plan, records, from: cursor), mayWrite: { try execution.checkCancellation() },
      onProgress: onProgress)
  }

  // MARK: In chunks

  private func importInChunks(_ head: Head, _ start: ImportCursor) async throws -> ImportCursor {
    var start = start
    let limit: RejectLimit
    if start.phase == .held {
      start.phase = .importing
      limit = .share(1)
      // Rejects found before anything was imported are found again.
      if start.position == head.start.position { try await writer(head, start).removeRejects(of: records) }
    } else {
      // An earlier attempt that has written something has checked everything before.
      let total: Int64
      if let known = start.total { total = known } else { total = try await check(head, start) }
      start.total = total
      limit = arguments.rejectLimit.resolved(records: total)
    }
    let path = path
    let writer = writer(head, start) { try $0.checkLimit(limit, path) }
    let input = try open(head, at: start.position)
    var builder = ChunkBuilder(head.plan, capacity: settings.chunkRows)
    show(input, "importing: \(start.counts.rows) rows")
    var count = start.counts.records
    do {
      while try fill(&builder, input) {
        count += Int64(builder.count)
        try settings.checkRows(count, path)
        try await writer.write(builder.finish(at: input.source.position))
        show(input, "importing: \(count) rows")
      }
      try input.checkUnchanged()
      return try await writer.finish()
    } catch {
      await writer.stop()
      guard let error = error as? TooManyRejects else { throw error }
      throw try await giveUp(error, head)
    }
  }

  /// Ends an import of which too many records turned out to be bad when they were written.
  private func giveUp(_ error: TooManyRejects, _ head: Head) async throws -> any Error {
    if arguments.rejectPolicy == .rollBack {
      return JobFailure(error.description + head.plan.leftover)
    }
    var cursor = error.cursor
    cursor.phase = .held
    let (records, plan, held) = (records, head.plan, cursor)
    try await writer(head, cursor).run { transaction in
      try records.save(
        held, header: plan.header, form: plan.form, rejects: held.counts.rejects, &transaction)
    }
    return AttemptHold(error.description)
  }

  // MARK: At once

  /// Imports everything in one transaction of the writer, which others wait for.
  private func importAtOnce(_ head: Head, _ start: ImportCursor) async throws -> ImportCursor {
    let (plan, records, arguments, settings) = (head.plan, records, arguments, settings)
    let (execution, path, options) = (execution, path, options)
    do {
      return try await writer(head, start).run { transaction in
        var chunks = ChunkWriter(plan, records, from: start, isAtomic: true)
        if plan.mode == .replaceAll { try chunks.deleteAll(&transaction) }
        var input = try ImportInput(arguments.input.path, of: execution, for: head.submitter, options)
        try input.go(to: start.position)
        var builder = ChunkBuilder(plan, capacity: settings.chunkRows)
        while try builder.fill(input) {
          try execution.checkCancellation()
          let chunk = builder.finish(at: input.source.position)
          try chunks.write(chunk, &transaction)
          try settings.checkRows(chunks.cursor.counts.records, path)
          execution.progress = JobProgress(
            done: input.source.fileOffset, total: input.size, unit: "bytes",
            message: "importing in one transaction: \(chunks.cursor.counts.rows) rows")
          if case .count = arguments.rejectLimit { try chunks.checkLimit(arguments.rejectLimit, path) }
        }
        try input.checkUnchanged()
        try chunks.checkLimit(arguments.rejectLimit, path)
        try chunks.deleteUnseen(&transaction)
        try chunks.checkDeletes()
        chunks.cursor.phase = .done
        try chunks.save(&transaction)
        return chunks.cursor
      }
    } catch let error as TooManyRejects {
      // The rejects recorded in the transaction were rolled back with it.
      let kept = error.kept
      try await writer(head, start).run { transaction in
        try records.add(kept, &transaction)
        try records.save(nil, header: plan.header, form: plan.form, rejects: Int64(kept.count), &transaction)
      }
      throw JobFailure(error.description)
    }
  }

  // MARK: Beginning and end

  /// Fills a chunk; returns false if there was nothing more.
  func fill(_ builder: inout ChunkBuilder, _ input: borrowing ImportInput) throws -> Bool {
    let hasMore = try builder.fill(input)
    try execution.checkCancellation()
    return hasMore
  }

  /// Each of the two passes goes through the whole input, and has a rate of its own.
  func show(_ input: borrowing ImportInput, _ message: String) {
    execution.progress = JobProgress(
      done: input.source.fileOffset, total: input.size, unit: "bytes", message: message)
  }

  /// Drops the cursor, in the transaction of the job's outcome.
  private func endRecords(_ cursor: ImportCursor) async throws {
    guard let id = try records.stateID() else { return }
    try await execution.context.perform { context in
      guard let state = try context.existingObject(with: id) as? ImportState else { return }
      if cursor.counts.rejects == 0 { context.delete(state) } else { state.cursor = nil }
    }
  }

  private func result(_ cursor: ImportCursor, _ head: Head) -> JSONValue {
    var object: JSONObject = ["rows": .integer(cursor.counts.rows)]
    for (name, value) in cursor.counts.json { object[name] = value }
    if arguments.mode == .mirror, cursor.counts.rejects > 0 { object["deletesSkipped"] = true }
    object["bytes"] = .integer(cursor.inputSize)
    object["input"] = head.form.json
    return .object(object)
  }

  /// Deletes the objects that earlier chunks have saved, chunk by chunk, with the cursor going back.
  func revert() async throws {
    let records = records
    // On the writer, after anything that an abandoned attempt is still writing.
    let known = try await ImportWriter(execution.context).run { try records.cursor($0.reader) }
    if let cursor = known ?? execution.cursor.flatMap(ImportCursor.init) { try await revert(from: cursor) }
  }

  private func revert(from start: ImportCursor) async throws {
    var cursor = start
    let (records, entity) = (records, arguments.entity)
    let writer = ImportWriter(execution.context)
    let total = Int64(cursor.newObjects)
    while true {
      execution.progress = JobProgress(
        done: total - Int64(cursor.newObjects), total: total, unit: "rows", message: "reverting the import")
      let keys = cursor.popNewObjects(atMost: settings.chunkRows)
      if keys.isEmpty { break }
      let rest = cursor
      try await writer.run { transaction in
        _ = try transaction.delete(keys, of: entity)
        try records.save(rest, header: nil, form: nil, rejects: rest.counts.rejects, &transaction)
      }
    }
    let rejects = cursor.counts.rejects
    try await writer.run { transaction in
      try records.save(nil, header: nil, form: nil, rejects: rejects, &transaction)
    }
  }
}

extension Configuration.Import {
  /// Refuses an input with more records than the configuration allows; called after each chunk.
  func checkRows(_ count: Int64, _ path: String) throws {
    if maxRows > 0, count > maxRows {
      throw JobFailure(
        "the input \(displayName(path)) has more than \(maxRows) records; [Import] MaxRows allows no more")
    }
  }
}

extension ImportRun {
  /// Checks all records that are still to be imported, so that too many rejects are found before anything is written.
  ///
  /// - Returns: how many records there are.
  func check(_ head: Head, _ start: ImportCursor) async throws -> Int64 {
    let input = try open(head, at: start.position)
    let mayLack = head.plan.columns.contains { RelationshipResolver($0)?.rejects == true }
    var builder = ChunkBuilder(head.plan, capacity: settings.chunkRows, keepsValues: mayLack)
    var survey = Survey(start.counts)
    show(input, "checking every record first")
    while try fill(&builder, input) {
      if mayLack {
        let chunk = builder.finish(at: input.source.position)
        let lacking = try coordinator.openStore().read { try chunk.lookUp(coordinator, $0).rejects.values }
        survey.note(chunk.count - lacking.count, (chunk.rejects + lacking).sorted { $0.byteOffset < $1.byteOffset })
      } else {
        survey.note(builder.count, builder.drainRejects())
        builder.removeAll()
      }
      try settings.checkRows(survey.records, path)
      execution.progress.done = input.source.fileOffset
    }
    try input.checkUnchanged()
    if arguments.rejectLimit.isExceeded(by: survey.rejects, of: survey.records), let first = survey.first {
      let failure = first.failure(path, more: survey.rejects - 1)
      var cursor = start
      cursor.phase = .held
      let isHeld = arguments.rejectPolicy == .hold
      let (kept, found) = (survey.kept, survey.rejects)
      let (records, plan, state) = (records, head.plan, isHeld || start.position != head.start.position ? cursor : nil)
      try await writer(head, start).run { transaction in
        try records.add(kept, &transaction)
        try records.save(
          state, header: plan.header, form: plan.form, rejects: found, &transaction)
      }
      throw isHeld ? AttemptHold(failure.message) : failure
    }
    return survey.records
  }
}
