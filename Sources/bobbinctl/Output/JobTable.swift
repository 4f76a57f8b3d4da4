/// The table of `list`.
enum JobTable {
  static func make(_ jobs: [JobReply], _ times: TimeText) -> Table {
    var table = Table(columns: [
      .init(title: "ID", isFlexible: true), .init(title: "TYPE", isFlexible: true), .init(title: "STATE"),
      .init(title: "ATTEMPT"), .init(title: "CREATED"), .init(title: "TOOK"), .init(title: "NOTE", isFlexible: true),
    ])
    table.rows = jobs.map { job in
      let took = job.startedAt.flatMap { times.duration(from: $0, to: job.finishedAt) }
      return [
        .init(job.id), .init(job.type), .init(job.stateText, job.stateStyle), .init(job.attemptText ?? ""),
        .init(job.createdAt.map(times.relative) ?? ""), .init(took ?? ""),
        .init(sentence: job.error ?? job.progressText ?? ""),
      ]
    }
    return table
  }
}
