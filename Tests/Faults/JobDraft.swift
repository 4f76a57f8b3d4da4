/// A job's keys without the braces, and what it must come to.
struct JobDraft {
  var text: String
  var job: ExpectedJob

  /// The same job, which waits for others to be completed.
  func after(_ others: JobDraft...) -> JobDraft { waiting("after", for: others) }

  /// The same job, which waits for others to be over.
  func afterAny(_ others: JobDraft...) -> JobDraft { waiting("afterAny", for: others) }

  private func waiting(_ key: String, for others: [JobDraft]) -> JobDraft {
    var draft = self
    let names = others.map { "\"\($0.job.id)\"" }.joined(separator: ", ")
    draft.text += ", \"\(key)\": [\(names)]"
    draft.job.after += others.map(\.job.id)
    return draft
  }

  /// The same job, which must end in one of these states.
  func ending(_ outcomes: Set<String>) -> JobDraft {
    var draft = self
    draft.job.outcomes = outcomes
    return draft
  }
}
