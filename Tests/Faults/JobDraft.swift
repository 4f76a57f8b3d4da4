/// A job's keys without the braces, and what it must come to.
struct JobDraft {
  var text: String
  var job: ExpectedJob

  /// The same job, which waits for others to be completed.
  func after(_ others: JobDraft...) -> JobDraft {
    var draft = waiting("after", for: others)
    draft.job.needs += others.map(\.job.id)
    return draft
  }

  /// The same job, which waits for others to be over.
  func afterAny(_ others: JobDraft...) -> JobDraft { waiting("afterAny", for: others) }

  private func waiting(_ key: String, for others: [JobDraft]) -> JobDraft {
    var draft = self
    let names = others.map { "\"\($0.job.id)\"" }.joined(separator: ", ")
    draft.text += ", \"\(key)\": [\(names)]"
    draft.job.after += others.map(\.job.id)
    return draft
  }

  /// The same job in a queue.
  func inQueue(_ name: String) -> JobDraft {
    var draft = self
    draft.text += ", \"queue\": \"\(name)\""
    draft.job.queue = name
    return draft
  }
}
