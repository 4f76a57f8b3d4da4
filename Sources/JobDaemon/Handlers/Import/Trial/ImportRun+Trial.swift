import JSONText
import Jobs
import ObjectGraph
import ObjectModel
import RecordInput

extension ImportRun {
  /// Everything but the write: what would become of the records, and how long it would take.
  func dryRun(_ head: Head) async throws -> JSONValue {
    try await execution.waitUntilDurable()
    let input = try open(head, at: head.start.position)
    var trial = ImportTrial(
      head.plan, coordinator, names: input.source.columnNames ?? [], isTyped: !head.form.isDelimited)
    var builder = ChunkBuilder(head.plan, capacity: settings.chunkRows)
    show(input, "checking every record, for a dry run")
    let started = ContinuousClock.now
    var writing = Duration.zero
    while try builder.fill(input, { trial.look(at: $0) }) {
      try execution.checkCancellation()
      let chunk = builder.finish(at: input.source.position)
      try trial.note(chunk)
      try settings.checkRows(trial.checkedCount, path)
      if trial.chunkCount == 1 { writing = try await time(chunk, head) }
      execution.progress.done = input.source.fileOffset
    }
    try input.checkUnchanged()
    let checking = ContinuousClock.now - started - writing
    var result = try trial.result(arguments.rejectLimit)
    let perRow = trial.firstCount > 0 ? (writing / .seconds(1)) / Double(trial.firstCount) : 0
    // While one chunk is written the next is read.
    let reading = checking / .seconds(1)
    let seconds = (arguments.isAtomic ? reading : 2 * reading) + perRow * Double(trial.goodCount)
    result["seconds"] = .number((seconds * 1000).rounded() / 1000)
    result["bytes"] = .integer(input.size)
    result["input"] = head.form.json
    return .object(result)
  }

  /// How long it takes to write a chunk, which is taken back.
  private func time(_ chunk: ImportChunk, _ head: Head) async throws -> Duration {
    let (plan, records, cursor) = (head.plan, records, head.start)
    let start = ContinuousClock.now
    do {
      try await ImportWriter(execution.context).run { transaction in
        var chunks = ChunkWriter(plan, records, cursor, isAtomic: true)
        try chunks.write(chunk, &transaction)
        throw TakenBack()
      }
    } catch is TakenBack {}
    return ContinuousClock.now - start
  }

  private struct TakenBack: Error {}
}
