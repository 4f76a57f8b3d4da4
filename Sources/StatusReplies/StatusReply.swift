package import JSONText

/// The reply of `GET /v1/status`; fields that an older or newer daemon may leave out are optional.
package struct StatusReply: Decodable, Sendable {
  package struct Workers: Decodable, Sendable {
    package let count: Int
    package let busy: Int
    package let abandoned: Int?

    package init(count: Int, busy: Int, abandoned: Int) {
      (self.count, self.busy, self.abandoned) = (count, busy, abandoned)
    }
  }

  package struct Writer: Decodable, Sendable {
    package var unflushedObjects: Int?
    package var unflushedBytes: Int?
    package var oldestUnflushedSeconds: Double?
    package var flushes: Int?
    package var lastFlushSeconds: Double?
    package var lastError: String?

    package init() {}
  }

  /// The times for which the main context was occupied.
  package struct Main: Decodable, Sendable {
    package var occupations: Int?
    package var p50Seconds: Double?
    package var p99Seconds: Double?
    package var maxSeconds: Double?

    package init() {}
  }

  /// A type that a fault of the host holds.
  package struct HeldType: Decodable, Sendable {
    package let type: String
    package let reason: String
    package let since: Timestamp?

    package init(type: String, reason: String, since: Timestamp) {
      (self.type, self.reason, self.since) = (type, reason, since)
    }

    fileprivate var json: JSONValue {
      .object(["type": .string(type), "reason": .string(reason), "since": .time(since)])
    }
  }

  /// Jobs that are tried again until the host has what they lack.
  package struct Shortage: Decodable, Sendable {
    package let jobs: Int
    package let reason: String
    package let since: Timestamp?

    package init(jobs: Int, reason: String, since: Timestamp) {
      (self.jobs, self.reason, self.since) = (jobs, reason, since)
    }

    fileprivate var json: JSONValue {
      .object(["jobs": .whole(jobs), "reason": .string(reason), "since": .time(since)])
    }
  }

  /// The copy of the store for other programs.
  package struct Copy: Decodable, Sendable {
    package var path: String
    /// When it was made, by this daemon.
    package var madeAt: Timestamp?
    package var seconds: Double?
    package var bytes: Int?
    package var largeValueBytes: Int?
    /// True if the store has changed since.
    package var behind: Bool?
    package var problem: String?

    package init(path: String) { self.path = path }

    package var json: JSONValue {
      .object([
        "path": .string(path), "madeAt": .time(madeAt), "seconds": .real(seconds), "bytes": .whole(bytes),
        "largeValueBytes": .whole(largeValueBytes), "behind": behind.map(JSONValue.bool) ?? .null,
        "problem": .text(problem),
      ])
    }
  }

  package var version: String
  package var state: String
  package var pid: Int?
  package var startedAt: Timestamp?
  package var uptimeSeconds: Double?
  package var spool: String?
  package var store: String?
  /// Since when a fleet's database does not answer; nil while it does, and without a fleet.
  package var databaseAwaySince: Timestamp?
  /// The reason for that in words, as far as it is known.
  package var databaseAwayReason: String?
  package var workers: Workers?
  /// The number of jobs by state; of final states, since the daemon's start.
  package var jobs: [String: Int]?
  package var pauses: [PauseReply.Pause]?
  package var heldTypes: [HeldType]?
  /// Nil if no job lacks anything of the host.
  package var shortage: Shortage?
  /// The reasons why the models in the folder were not taken at the last reload.
  package var untakenModels: [String]?
  /// The mistakes for which the last reload was refused, so that an earlier configuration is in force.
  package var refusedConfiguration: [String]?
  package var refusedFiles: Int?
  package var hotFolders: HotFolders?
  package var writer: Writer?
  package var main: Main?
  /// Nil if there is to be none.
  package var copy: Copy?

  package init(version: String, state: String) { (self.version, self.state) = (version, state) }

  package var json: JSONValue {
    .object([
      "version": .string(version), "state": .string(state), "pid": .whole(pid), "startedAt": .time(startedAt),
      "uptimeSeconds": .real(uptimeSeconds), "spool": .text(spool), "store": .text(store),
      "databaseAwaySince": .time(databaseAwaySince), "databaseAwayReason": .text(databaseAwayReason),
      "workers": workers.map {
        .object(["count": .whole($0.count), "busy": .whole($0.busy), "abandoned": .whole($0.abandoned)])
      } ?? .null,
      "jobs": .counts(jobs ?? [:]), "pauses": .array((pauses ?? []).map(\.json)),
      "heldTypes": .array((heldTypes ?? []).map(\.json)), "shortage": shortage.map(\.json) ?? .null,
      "untakenModels": .array((untakenModels ?? []).map(JSONValue.string)),
      "refusedConfiguration": .array((refusedConfiguration ?? []).map(JSONValue.string)),
      "refusedFiles": .whole(refusedFiles),
      "hotFolders": hotFolders?.json ?? .null,
      "writer": writer.map {
        .object([
          "unflushedObjects": .whole($0.unflushedObjects), "unflushedBytes": .whole($0.unflushedBytes),
          "oldestUnflushedSeconds": .real($0.oldestUnflushedSeconds), "flushes": .whole($0.flushes),
          "lastFlushSeconds": .real($0.lastFlushSeconds), "lastError": .text($0.lastError),
        ])
      } ?? .null,
      "main": main.map {
        .object([
          "occupations": .whole($0.occupations), "p50Seconds": .real($0.p50Seconds), "p99Seconds": .real($0.p99Seconds),
          "maxSeconds": .real($0.maxSeconds),
        ])
      } ?? .null,
      "copy": copy.map(\.json) ?? .null,
    ])
  }
}

/// The reply of `GET /v1/queues`.
package struct QueuesReply: Decodable, Sendable {
  /// A queue or a type.
  package struct Entry: Decodable, Sendable {
    package let name: String
    package let paused: Bool
    package let concurrency: Int?
    /// The number of unfinished jobs by state.
    package let jobs: [String: Int]

    package init(name: String, paused: Bool, concurrency: Int?, jobs: [String: Int]) {
      (self.name, self.paused, self.concurrency, self.jobs) = (name, paused, concurrency, jobs)
    }

    fileprivate var json: JSONValue {
      .object([
        "name": .string(name), "paused": .bool(paused), "concurrency": .whole(concurrency), "jobs": .counts(jobs),
      ])
    }
  }

  /// True if everything is paused.
  package let paused: Bool
  package let queues: [Entry]
  package let types: [Entry]

  package init(paused: Bool, queues: [Entry], types: [Entry]) {
    (self.paused, self.queues, self.types) = (paused, queues, types)
  }

  package var json: JSONValue {
    .object([
      "paused": .bool(paused), "queues": .array(queues.map(\.json)), "types": .array(types.map(\.json)),
    ])
  }
}

/// The reply of `POST /v1/pause` and `POST /v1/resume`.
package struct PauseReply: Decodable, Sendable {
  /// A queue, a type or everything that starts no jobs, a schedule that doesn't fire, or the host itself, if it is drained.
  package struct Pause: Decodable, Sendable {
    /// `all`, `queue`, `type`, `schedule` or `host`.
    package let kind: String
    package let name: String?

    package init(kind: String, name: String?) { (self.kind, self.name) = (kind, name) }

    fileprivate var json: JSONValue { .object(["kind": .string(kind), "name": .text(name)]) }
  }

  package let paused: Bool?
  /// The pauses in force afterwards; older daemons don't send them.
  package let pauses: [Pause]?

  package init(paused: Bool, pauses: [Pause]) { (self.paused, self.pauses) = (paused, pauses) }

  package var json: JSONValue {
    .object(["paused": paused.map(JSONValue.bool) ?? .null, "pauses": .array((pauses ?? []).map(\.json))])
  }
}

/// The reply of `POST /v1/commands`: the outcome of a command for jobs.
package struct CommandReply: Decodable, Sendable {
  /// The outcome for one job, open to names of newer daemons.
  package struct Result: RawRepresentable, Hashable, Decodable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let done = Self(rawValue: "done")
    package static let notFound = Self(rawValue: "not-found")
    package static let reverting = Self(rawValue: "reverting")
    package static let replacing = Self(rawValue: "replacing")
    package static let notPossible = Self(rawValue: "not-possible")
    package static let ambiguous = Self(rawValue: "ambiguous")
    /// It is another user's job.
    package static let notYours = Self(rawValue: "not-yours")
    /// Nothing was to be done.
    package static let matched = Self(rawValue: "matched")
  }

  package struct Job: Decodable, Sendable {
    package let id: String
    package let result: Result
    package let state: JobReply.State?
    /// The unfinished job with its unique key, if that makes the command impossible.
    package let uniqueOwner: String?
    /// The unfinished job that names it, if that makes the command impossible.
    package let neededBy: String?
    /// The spool in which its file may still lie, if that makes the command impossible; empty if nobody knows.
    package let awaitedBy: String?
    /// The IDs of jobs that may be meant, if there are several.
    package let candidates: [String]?
    /// The number of the user whose job it is, if that makes the command impossible.
    package let submitter: Int?

    package init(
      id: String, result: Result, state: JobReply.State? = nil, uniqueOwner: String? = nil, neededBy: String? = nil,
      awaitedBy: String? = nil, candidates: [String]? = nil, submitter: Int? = nil
    ) {
      (self.id, self.result, self.state, self.uniqueOwner) = (id, result, state, uniqueOwner)
      (self.neededBy, self.awaitedBy, self.candidates) = (neededBy, awaitedBy, candidates)
      self.submitter = submitter
    }

    /// The document; fields that are nil are left out.
    fileprivate var json: JSONValue {
      var object: JSONObject = ["id": .string(id), "result": .string(result.rawValue)]
      if let state { object["state"] = .string(state.rawValue) }
      if let uniqueOwner { object["uniqueOwner"] = .string(uniqueOwner) }
      if let neededBy { object["neededBy"] = .string(neededBy) }
      if let awaitedBy { object["awaitedBy"] = .string(awaitedBy) }
      if let submitter { object["submitter"] = .integer(Int64(submitter)) }
      if let candidates { object["candidates"] = .array(candidates.map(JSONValue.string)) }
      return .object(object)
    }
  }

  /// The number of jobs for which it was carried out.
  package let done: Int
  /// The jobs that were named, in their order; of a selection, the first ones.
  package let jobs: [Job]?
  /// The number of jobs of a selection; nil if jobs were named.
  package let matched: Int?
  /// The number of jobs of a selection by their results.
  package let counts: [String: Int]?
  /// True if nothing was to be done.
  package let dryRun: Bool?

  /// The outcome for jobs that were named.
  package init(done: Int, jobs: [Job]) {
    (self.done, self.jobs) = (done, jobs)
    (matched, counts, dryRun) = (nil, nil, nil)
  }

  /// The outcome for a selection.
  package init(done: Int, jobs: [Job], matched: Int, counts: [String: Int], isDryRun: Bool) {
    (self.done, self.jobs, self.matched, self.counts) = (done, jobs, matched, counts)
    dryRun = isDryRun
  }

  package var json: JSONValue {
    var object: JSONObject = ["done": .whole(done)]
    if let matched { object["matched"] = .whole(matched) }
    if let counts { object["counts"] = .counts(counts) }
    if let dryRun { object["dryRun"] = .bool(dryRun) }
    if let jobs { object["jobs"] = .array(jobs.map(\.json)) }
    return .object(object)
  }
}

/// The reply of `POST /v1/jobs/ID/edit`.
package struct EditReply: Decodable, Sendable {
  /// The ID of the job that was edited.
  package let id: String

  package init(id: String) { self.id = id }

  package var json: JSONValue { .object(["id": .string(id)]) }
}
