import Jobs
import ObjectGraph
import RecordInput

extension ImportRun {
  /// Reads all records that are still to be imported, so that too many bad ones are found before anything is written.
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
        survey.note(builder.count, builder.takeRejects())
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
