package import JSONText

/// The reply of `GET /v1/batches`: the batches of the last jobs, the newest first.
package struct BatchesReply: Decodable, Sendable {
  package struct Batch: Decodable, Sendable {
    package let name: String
    /// When its newest job was accepted.
    package let lastAcceptedAt: Timestamp?
    /// The number of its jobs in each state; those that retention has removed are not counted.
    package let jobs: [String: Int]
    /// True if there was no time to count all of them.
    package let atLeast: Bool?

    package init(name: String, lastAcceptedAt: Timestamp?, jobs: [String: Int], atLeast: Bool) {
      (self.name, self.lastAcceptedAt, self.jobs, self.atLeast) = (name, lastAcceptedAt, jobs, atLeast)
    }

    fileprivate var json: JSONValue {
      .object([
        "name": .string(name), "lastAcceptedAt": .time(lastAcceptedAt), "jobs": .counts(jobs),
        "atLeast": .bool(atLeast ?? false),
      ])
    }
  }

  package let batches: [Batch]
  /// True if there was no time to look for all; those of the newest jobs are told then.
  package let mayHaveMore: Bool?

  package init(batches: [Batch], mayHaveMore: Bool) { (self.batches, self.mayHaveMore) = (batches, mayHaveMore) }

  package var json: JSONValue {
    .object(["batches": .array(batches.map(\.json)), "mayHaveMore": .bool(mayHaveMore ?? false)])
  }
}

/// The reply of `GET /v1/jobs/ID/relatives`: the jobs that it waits for, and those that wait for it.
package struct RelativesReply: Decodable, Sendable {
  package struct Relative: Decodable, Sendable {
    package let id: String
    /// Nil of one that nobody has submitted yet, or that retention has removed.
    package let type: String?
    package let state: JobReply.State?

    package init(id: String, type: String? = nil, state: JobReply.State? = nil) {
      (self.id, self.type, self.state) = (id, type, state)
    }

    fileprivate var json: JSONValue {
      .object(["id": .string(id), "type": .text(type), "state": .text(state?.rawValue)])
    }
  }

  package let id: String
  /// Those that its file names, in its order.
  package let after: [Relative]
  /// Unfinished ones, and those of its batch.
  package let before: [Relative]
  /// True if there was no time to look at all jobs of its batch.
  package let mayHaveMore: Bool?

  package init(id: String, after: [Relative], before: [Relative], mayHaveMore: Bool) {
    (self.id, self.after, self.before, self.mayHaveMore) = (id, after, before, mayHaveMore)
  }

  package var json: JSONValue {
    .object([
      "id": .string(id), "after": .array(after.map(\.json)), "before": .array(before.map(\.json)),
      "mayHaveMore": .bool(mayHaveMore ?? false),
    ])
  }
}
