import JSONText
import SystemSupport

extension JobReply {
  /// The state's name; what is completed but not yet on disk is only computed.
  var stateText: String {
    state == .completed && !durable ? "computed" : state.rawValue
  }

  var stateStyle: Style {
    switch state {
    case .completed: durable ? .good : .active
    case .running, .retryable: .active
    default: state.isFailure ? .bad : .plain
    }
  }

  var attemptText: String? {
    attempt.map { attempt in maxAttempts.map { "\(attempt)/\($0)" } ?? "\(attempt)" }
  }

  var progressText: String? { progress?.text }

  /// The line that `submit` prints for it.
  ///
  /// - Parameter end: The end of the wait for it; nil when nobody waited.
  func submitLine(_ end: WaitEnd?, _ times: TimeText) -> String {
    let word = end != nil || state.isFinal ? stateText : "accepted"
    let note: String? =
      switch end {
      case .durable: startedAt.flatMap { times.duration(from: $0, to: finishedAt) }
      case .unfinished:
        switch state {
        case .completed: "not on disk yet"
        case .waiting: "the wait is over, the job waits for others"
        case .running: "the wait is over, the job goes on"
        default: "the wait is over, `bobbinctl why \(displayName(id))` tells what the job waits for"
        }
      case .held:
        (error.map { $0 + "; " } ?? "")
          + "`bobbinctl release \(displayName(id))` lets it go on, `bobbinctl cancel \(displayName(id))` ends it"
      case .failed, nil: error
      }
    let line = [displayName(word).padded(to: 9), displayName(id)] + (note.map { [singleLine($0)] } ?? [])
    return line.joined(separator: "  ") + "\n"
  }

  /// The fields that `show` prints for it.
  ///
  /// - Parameter document: The reply with the parts that belong to the job's type.
  func fields(_ document: JSONValue, _ times: TimeText) -> FieldList {
    var list = FieldList()
    list.add("id", displayName(id))
    list.add("type", displayName(type))
    list.add("state", stateText + (state.isFinal && durable ? ", on disk" : ""), stateStyle)
    list.add("queue", queue)
    list.add("priority", priority.map { "\($0)" })
    list.add("attempt", attempt.map { "\($0)" + (maxAttempts.map { " of \($0)" } ?? "") })
    list.add("file", file)
    list.add("submitter", submitter.map { "user \($0)" })
    list.add("created", createdAt.map(times.full))
    list.add("started", startedAt.map(times.full))
    list.add("finished", finishedAt.map(times.full))
    if startedAt != nil { list.add("took", times.duration(from: startedAt, to: finishedAt)) }
    list.add("progress", progressText)
    list.add("ending", ending)
    list.add("error", error, .bad)
    if let rejects = document["rejects"]?.integer, rejects > 0 {
      list.add("rejects", "\(rejects), shown by \"bobbinctl rejects\"", .bad)
    }
    list.add("result", Self.text(of: document["result"]))
    list.add("arguments", Self.text(of: document["arguments"]))
    return list
  }

  /// On one line; null is nothing to show.
  private static func text(of value: JSONValue?) -> String? {
    value.flatMap { $0.isNull ? nil : $0.serialized() }
  }
}
