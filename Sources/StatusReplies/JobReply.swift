package import JSONText

/// A job as the status interface shows it; Documentation/StatusAPI.md explains each field.
///
/// A client decodes it, the daemon writes ``json``. Fields that an older or newer daemon may leave out are optional.
package struct JobReply: Decodable, Sendable {
  /// The progress of a running job, as far as it reports any.
  package struct Progress: Decodable, Sendable {
    package var fraction: Double?
    package var unit: String?
    package var done: Int?
    package var total: Int?
    package var message: String?
    package var ratePerSecond: Double?
    package var secondsLeft: Double?

    package init() {}
  }

  /// A run that had ended before the job was replaced.
  package struct EarlierRun: Decodable, Sendable {
    /// The number of its last attempt.
    package var attempt: Int
    package var state: State
    package var startedAt: Timestamp?
    package var finishedAt: Timestamp?
    package var error: String?
    /// Values of any form, which the daemon writes only.
    package var result: JSONValue?
    package var arguments: JSONValue?

    private enum CodingKeys: String, CodingKey { case attempt, state, startedAt, finishedAt, error }

    package init(attempt: Int, state: State) { (self.attempt, self.state) = (attempt, state) }

    fileprivate var json: JSONValue {
      .object([
        "attempt": .whole(attempt), "state": .string(state.rawValue), "startedAt": .time(startedAt),
        "finishedAt": .time(finishedAt), "error": .text(error), "result": result ?? .null,
        "arguments": arguments ?? .null,
      ])
    }
  }

  /// A job's state, open to names of newer daemons.
  package struct State: RawRepresentable, Hashable, Decodable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let waiting = Self(rawValue: "waiting")
    package static let held = Self(rawValue: "held")
    package static let running = Self(rawValue: "running")
    package static let retryable = Self(rawValue: "retryable")
    package static let completed = Self(rawValue: "completed")
    package static let cancelled = Self(rawValue: "cancelled")
    package static let discarded = Self(rawValue: "discarded")
    package static let quarantined = Self(rawValue: "quarantined")

    /// True if the state is final.
    package var isFinal: Bool { self == .completed || isFailure }

    /// True for a final state other than `completed`.
    package var isFailure: Bool { [.cancelled, .discarded, .quarantined].contains(self) }
  }

  package var id: String
  package var type: String
  package var state: State
  /// True if the state is on disk.
  package var durable: Bool
  package var queue: String?
  package var priority: Int?
  package var attempt: Int?
  package var maxAttempts: Int?
  package var notBefore: Timestamp?
  package var batch: String?
  package var file: String?
  /// The host of a fleet that had its last attempt, by its spool; nil without a fleet.
  package var host: String?
  package var submitter: Int?
  package var traceparent: String?
  package var createdAt: Timestamp?
  package var startedAt: Timestamp?
  package var finishedAt: Timestamp?
  package var error: String?
  /// The reason why the running attempt was told to stop, if it was.
  package var ending: String?
  package var progress: Progress?
  /// True if it was known before it was submitted, so that nothing was run; only in the reply to a submission.
  package var repeated: Bool?
  /// True if it was known, and has the submitted specification now; only in the reply to a submission.
  package var replaced: Bool?
  /// The IDs by which it waits for jobs that nobody has submitted yet; only in the reply to a submission.
  package var unknownAfter: [String]?

  /// The result in short, such as `inserted 5, rejected 2`; in lists only.
  package var summary: String?
  /// The runs before it was replaced, the first one first; nil if there were none, and in lists.
  package var earlierRuns: [EarlierRun]?

  /// Leaves out what belongs to a run, as if the job were just accepted.
  package mutating func forgetRun() {
    (state, durable) = (State(rawValue: "available"), true)
    (startedAt, finishedAt, error, ending, progress, result, rejects) = (nil, nil, nil, nil, nil, nil, nil)
  }

  /// Values of any form, which the daemon writes only; clients read them from the document, keys in their order.
  package var result: JSONValue?
  package var arguments: JSONValue?
  package var options: JSONValue?
  package var rejects: JSONValue?

  private enum CodingKeys: String, CodingKey {
    case id, type, state, durable, queue, priority, attempt, maxAttempts, notBefore, batch, file, host, submitter
    case createdAt, traceparent, startedAt, finishedAt, error, ending, progress, repeated, replaced
    case unknownAfter, earlierRuns, summary
  }

  package init(id: String, type: String, state: State, durable: Bool) {
    self.id = id
    self.type = type
    self.state = state
    self.durable = durable
  }

  /// The document. What only some replies have is left out if it is nil, other fields are null then.
  package var json: JSONValue {
    var object: JSONObject = [
      "id": .string(id), "type": .string(type), "queue": .text(queue), "priority": .whole(priority),
      "state": .string(state.rawValue), "durable": .bool(durable), "attempt": .whole(attempt),
      "maxAttempts": .whole(maxAttempts), "notBefore": .time(notBefore), "batch": .text(batch), "file": .text(file),
      "host": .text(host), "submitter": .whole(submitter), "traceparent": .text(traceparent),
      "createdAt": .time(createdAt), "startedAt": .time(startedAt), "finishedAt": .time(finishedAt),
      "error": .text(error), "result": result ?? .null, "ending": .text(ending), "progress": progress?.json ?? .null,
    ]
    if let summary { object["summary"] = .string(summary) }
    if let rejects { object["rejects"] = rejects }
    if let arguments { object["arguments"] = arguments }
    if let options { object["options"] = options }
    if let repeated { object["repeated"] = .bool(repeated) }
    if let replaced { object["replaced"] = .bool(replaced) }
    if let earlierRuns { object["earlierRuns"] = .array(earlierRuns.map(\.json)) }
    if let unknownAfter { object["unknownAfter"] = .array(unknownAfter.map(JSONValue.string)) }
    return .object(object)
  }
}

extension JobReply: PartlyDecoded {
  package static let furtherFields: [String: JSONValue] = [
    "result": [:], "arguments": [:], "options": [:], "rejects": ["type": ["integer", "null"]],
  ]
}

extension JobReply.EarlierRun: PartlyDecoded {
  package static let furtherFields: [String: JSONValue] = ["result": [:], "arguments": [:]]
}

extension AttemptsReply.Attempt: PartlyDecoded {
  package static let furtherFields: [String: JSONValue] = ["evidence": [:]]
}

extension RejectsReply.Form: PartlyDecoded {
  package static let furtherFields: [String: JSONValue] = [
    "compression": [:], "encoding": [:], "separator": [:], "quote": [:], "header": [:],
  ]
}

extension JobReply.Progress {
  fileprivate var json: JSONValue {
    .object([
      "fraction": .real(fraction), "unit": .text(unit), "done": .whole(done), "total": .whole(total),
      "message": .text(message), "ratePerSecond": .real(ratePerSecond), "secondsLeft": .real(secondsLeft),
    ])
  }
}

/// The reply of `GET /v1/jobs` and `POST /v1/jobs`.
package struct JobsReply: Decodable, Sendable {
  package let jobs: [JobReply]
  /// The cursor of the next page; nil at the end, and in replies that are no lists.
  package let next: String?
  /// The number of jobs that match, shown or not; only in lists.
  package let count: Int?
  /// True if there may be more than that.
  package let atLeast: Bool?
  /// The number of jobs; only of a submitted file with one job on each line.
  package let total: Int?
  /// The number of jobs by state, whichever states were asked for; only where they were asked for.
  package let counts: [String: Int]?
  /// True if there was no time to count all of them.
  package let countsAtLeast: Bool?
  /// The number of jobs that were known before; only of a submitted file with one job on each line.
  package let repeated: Int?
  /// `replicated` if commits of a fleet's database wait for a synchronous standby, else `local`; only of submissions to a
  /// fleet.
  package let durability: String?
}

/// The reply of `GET /v1/jobs/ID/why`.
package struct WhyReply: Decodable, Sendable {
  package let id: String?
  package let state: JobReply.State
  package let reasons: [String]

  package init(id: String, state: JobReply.State, reasons: [String]) {
    (self.id, self.state, self.reasons) = (id, state, reasons)
  }

  package var json: JSONValue {
    .object(["id": .text(id), "state": .string(state.rawValue), "reasons": .array(reasons.map(JSONValue.string))])
  }
}

/// The reply of `GET /v1/jobs/ID/attempts`.
package struct AttemptsReply: Decodable, Sendable {
  package struct Attempt: Decodable, Sendable {
    package var number: Int
    package var outcome: String
    package var startedAt: Timestamp?
    package var finishedAt: Timestamp?
    package var error: String?
    /// A value of any form, which the daemon writes only.
    package var evidence: JSONValue?
    package var log: String?

    private enum CodingKeys: String, CodingKey {
      case number, outcome, startedAt, finishedAt, error, log
    }

    package init(number: Int, outcome: String) { (self.number, self.outcome) = (number, outcome) }

    fileprivate var json: JSONValue {
      .object([
        "number": .whole(number), "outcome": .string(outcome), "startedAt": .time(startedAt),
        "finishedAt": .time(finishedAt), "error": .text(error), "evidence": evidence ?? .null, "log": .text(log),
      ])
    }
  }

  package let id: String?
  package let attempts: [Attempt]

  package init(id: String, attempts: [Attempt]) { (self.id, self.attempts) = (id, attempts) }

  package var json: JSONValue { .object(["id": .text(id), "attempts": .array(attempts.map(\.json))]) }
}

/// The reply of `GET /v1/jobs/ID/rejects`.
package struct RejectsReply: Decodable, Sendable {
  /// The form of the input, of which a client needs the format only.
  package struct Form: Decodable, Sendable {
    package let format: String?
  }

  package struct Reject: Decodable, Sendable {
    package let line: Int
    package let byteOffset: Int
    package let column: String?
    package let rule: String
    package let message: String
    package let raw: String

    package init(line: Int, byteOffset: Int, column: String?, rule: String, message: String, raw: String) {
      (self.line, self.byteOffset, self.column) = (line, byteOffset, column)
      (self.rule, self.message, self.raw) = (rule, message, raw)
    }

    fileprivate var json: JSONValue {
      .object([
        "line": .whole(line), "byteOffset": .whole(byteOffset), "column": .text(column), "rule": .string(rule),
        "message": .string(message), "raw": .string(raw),
      ])
    }
  }

  package let id: String?
  /// The number of rejects that are kept.
  package let total: Int
  /// The number of records that were rejected.
  package let found: Int
  package let header: String?
  package let input: Form?
  package let rejects: [Reject]
  /// The start of the next page; nil if there is none.
  package let next: Int?

  package init(id: String, total: Int, found: Int, header: String?, rejects: [Reject], next: Int?) {
    (self.id, self.total, self.found, self.header) = (id, total, found, header)
    (self.rejects, self.next) = (rejects, next)
    input = nil
  }

  /// The document.
  ///
  /// - Parameter input: The form of the input, as the import has noted it.
  package func json(input: JSONValue) -> JSONValue {
    .object([
      "id": .text(id), "total": .whole(total), "found": .whole(found), "header": .text(header), "input": input,
      "rejects": .array(rejects.map(\.json)), "next": .whole(next),
    ])
  }
}
