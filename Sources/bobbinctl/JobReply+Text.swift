import JSONText
import StatusReplies
import SystemSupport
import TextSupport

extension JobReply {
  /// The state's name; a completed job that is not yet on disk is only computed.
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

  /// The text for a list: the progress of a running job, the failure of another.
  var noteText: String? {
    state == .running
      ? progressText ?? error.map { "the attempt before failed: \($0)" } : error ?? summary ?? progressText
  }

  /// The line that `submit` prints for it.
  ///
  /// - Parameter end: The end of the wait for it; nil when nobody waited.
  func submitLine(_ end: WaitEnd?, _ times: TimeText) -> String {
    let word = end != nil || state.isFinal ? stateText : "accepted"
    let news: String? =
      switch end {
      case .durable:
        [startedAt.flatMap { times.duration(from: $0, to: finishedAt) }, summary].compactMap(\.self)
          .joined(separator: ", ")
      case .unfinished:
        switch state {
        case .completed: "not on disk yet"
        case .waiting: "the wait has ended; the job waits for others"
        case .running: "the wait has ended; the job keeps running"
        default: "the wait has ended; `bobbinctl why \(displayName(id))` says what the job waits for"
        }
      case .held:
        (error.map { $0 + "; " } ?? "")
          + "`bobbinctl release \(displayName(id))` releases it, `bobbinctl cancel \(displayName(id))` cancels it"
      case .failed, nil: error
      }
    let note = [repetition, news].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: "; ")
    let line = [displayName(word).padded(to: 9), displayName(id)] + (note.isEmpty ? [] : [singleLine(note)])
    return line.joined(separator: "  ") + "\n"
  }

  /// The news that a submission has of it: that it is no new job, or that it waits for one that nobody knows.
  private var repetition: String? {
    if repeated == true { return "already known, nothing was run" }
    if replaced == true { return "replaces the job of this ID" }
    guard let unknown = unknownAfter, !unknown.isEmpty else { return nil }
    let names = unknown.prefix(3).map { "\"\(displayName($0))\"" }.joined(separator: ", ")
    return "waits for \(names)\(unknown.count > 3 ? " and others" : ""), which nobody has submitted yet"
  }

  /// The fields that `show` prints for it.
  ///
  /// - Parameter document: The reply with the parts that belong to the job's type.
  func fields(_ document: JSONValue, _ times: TimeText) -> FieldList {
    var list = FieldList()
    list.add("id", displayName(id))
    list.add("type", displayName(type))
    list.add("state", stateText + (state.isFinal && durable ? ", on disk" : ""), style: stateStyle)
    list.add("queue", queue)
    list.add("priority", priority.map { "\($0)" })
    list.add("attempt", attempt.map { "\($0)" + (maxAttempts.map { " of \($0)" } ?? "") })
    list.add("due", state.isFinal || state == .running ? nil : notBefore.map(times.full))
    list.add("batch", batch.map(displayName))
    list.add("file", file)
    list.add("host", host)
    list.add("submitter", submitter.map(Self.userText))
    list.add("created", createdAt.map(times.full))
    list.add("started", startedAt.map(times.full))
    list.add("finished", finishedAt.map(times.full))
    if startedAt != nil { list.add("took", times.duration(from: startedAt, to: finishedAt)) }
    list.add("progress", progressText)
    list.add("ending", ending)
    // A running job may yet succeed.
    list.add(state == .running ? "last error" : "error", error, style: state == .running ? .plain : .bad)
    if let rejects = document["rejects"]?.integer, rejects > 0 {
      list.add("rejects", "\(rejects), shown by \"bobbinctl rejects\"", style: .bad)
    }
    for name in ["result", "arguments", "options"] {
      if let value = document[name], !value.isNull { list.add(name, lines: Self.lines(of: value)) }
    }
    for (index, run) in (earlierRuns ?? []).enumerated() {
      let document = document["earlierRuns"]?.array?[index]
      list.add("earlier run", run.line(times), style: run.state.isFailure ? .bad : .plain)
      for name in ["result", "arguments"] {
        if let value = document?[name], !value.isNull { list.add("  " + name, lines: Self.lines(of: value)) }
      }
    }
    return list
  }

  /// The value on one line if it is short, else indented.
  private static func lines(of value: JSONValue) -> [String] {
    let line = value.serialized()
    if line.count <= 60 { return [line] }
    return value.serialized(pretty: true).split(separator: "\n").map(String.init)
  }

  /// Such as `ada (1000)`; the number alone of a user whom the user database doesn't know, or can't tell now.
  static func userText(_ number: Int) -> String {
    guard let user = UInt32(exactly: number), let name = (try? UserIdentity(lookingUp: user))?.name else {
      return "user \(number)"
    }
    return "\(name) (\(number))"
  }
}

extension JobReply.EarlierRun {
  /// Such as `completed, 2026-11-21 10:00:00, after 1 attempt`.
  fileprivate func line(_ times: TimeText) -> String {
    let parts = [state.rawValue, finishedAt.map(times.full), attempt > 0 ? "attempt \(attempt)" : nil, error]
    return parts.compactMap(\.self).joined(separator: ", ")
  }
}

/// The table of `list`.
enum JobTable {
  static func make(_ jobs: [JobReply], _ times: TimeText) -> Table {
    var table = Table(columns: [
      .init(title: "ID", isFlexible: true, keepsEnd: true), .init(title: "TYPE", isFlexible: true),
      .init(title: "STATE"),
      .init(title: "ATTEMPT"), .init(title: "CREATED"), .init(title: "TOOK"), .init(title: "NOTE", isFlexible: true),
    ])
    table.rows = jobs.map { job in
      let took = job.startedAt.flatMap { times.duration(from: $0, to: job.finishedAt) }
      return [
        .init(job.id), .init(job.type), .init(job.stateText, job.stateStyle), .init(job.attemptText ?? ""),
        .init(job.createdAt.map(times.relative) ?? ""), .init(took ?? ""),
        .init(sentence: job.noteText ?? ""),
      ]
    }
    return table
  }
}

extension JobReply.Progress {
  /// Such as `40 %, 4.1 of 10.2 MB, 2 MB/s, 3 s left, checking every record first`; nil if nothing is known.
  var text: String? {
    var parts: [String] = []
    if let fraction { parts.append("\(Int(min(max(0, fraction), 1) * 100)) %") }
    if let done { parts.append(amount(done, of: total)) }
    // Nothing done, no rate.
    if let ratePerSecond, ratePerSecond > 0 { parts.append(rate(ratePerSecond.rateDigits) + "/s") }
    if let secondsLeft { parts.append("\(TimeSpan.words(seconds: secondsLeft)) left") }
    if let message { parts.append(message) }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// Such as `40 %, 2 MB/s, 30 s left`: what tells how long it will still take; nil if nothing does.
  var paceText: String? {
    var parts: [String] = []
    if let fraction { parts.append("\(Int(min(max(0, fraction), 1) * 100)) %") }
    if let ratePerSecond, ratePerSecond > 0 { parts.append(rate(ratePerSecond.rateDigits) + "/s") }
    if let secondsLeft { parts.append("\(TimeSpan.words(seconds: secondsLeft)) left") }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// Such as `4.1 of 10.2 MB, checking every record first`; nil if neither is known.
  var amountText: String? {
    let parts = [done.map { amount($0, of: total) }, message].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private var counts: String { unit.map { $0.isEmpty ? "" : " \($0)" } ?? "" }

  /// The amount; many bytes are shown in a larger unit, the same for both numbers.
  private func amount(_ done: Int, of total: Int?) -> String {
    guard let (name, size) = scale(of: Double(total ?? done)) else {
      return "\(done)" + (total.map { " of \($0)" } ?? "") + counts
    }
    return (Double(done) / size).decimalText + (total.map { " of \((Double($0) / size).decimalText)" } ?? "")
      + " \(name)"
  }

  private func rate(_ rate: Double) -> String {
    guard let (name, size) = scale(of: rate) else { return rate.countText + counts }
    return (rate / size).decimalText + " \(name)"
  }

  /// The unit for so many bytes; nil for few, and for other units.
  private func scale(of amount: Double) -> (name: String, size: Double)? {
    if unit != "bytes" { return nil }
    return [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)].first { amount >= $0.1 }
  }
}

extension Double {
  /// Whole numbers without a fraction, however large.
  fileprivate var countText: String { Int(exactly: self).map { "\($0)" } ?? "\(self)" }

  /// With one decimal.
  fileprivate var decimalText: String { ((self * 10).rounded() / 10).countText }

  /// A rate is an estimate: whole from ten on, with one decimal below, and with two below one.
  fileprivate var rateDigits: Double {
    switch self {
    case 10...: rounded()
    case 1...: (self * 10).rounded() / 10
    default: (self * 100).rounded() / 100
    }
  }
}

/// The end of a wait for a job.
enum WaitEnd {
  /// The job is completed and its outcome on disk.
  case durable
  case failed
  /// The job is held until somebody releases or cancels it.
  case held
  /// The time ran out.
  case unfinished
}

extension JobReply {
  /// Returns how a wait for it ended.
  ///
  /// - Parameter allFinished: True if the daemon said that nothing is left to wait for, which decides about states that
  ///   this version doesn't know.
  func waitEnd(allFinished: Bool) -> WaitEnd {
    if state == .completed { return durable ? .durable : .unfinished }
    if state == .held { return .held }
    return state.isFailure || allFinished ? .failed : .unfinished
  }
}
