package import JSONText

/// The reply of `GET /v1/schedules`: every schedule, by name.
package struct SchedulesReply: Decodable, Sendable {
  package struct Schedule: Decodable, Sendable {
    package let name: String
    package let isPaused: Bool
    /// The moments at which it fires, as its definition says them; nil of an older daemon.
    package let moments: String?
    /// The job file that it submits; nil of an older daemon.
    package let jobFile: String?
    /// The treatment of a firing while jobs of the last one are unfinished: `skip`, `queue` or `allow`; nil of an older daemon.
    package let overlap: String?
    /// The moment at which it fires next; nil if it is paused, or never does again.
    package let next: Timestamp?
    /// The moment that was due when it fired last.
    package let last: Timestamp?
    /// The ID of that firing, with which those of its jobs begin.
    package let lastFiring: String?
    /// The reason why its jobs were refused; nil if they were not.
    package let refusal: String?
    /// The number of its jobs in each state; those that retention has removed are not counted.
    package let jobs: [String: Int]
    /// Its last firings with jobs that are still on record, the oldest first; nil of an older daemon.
    package let history: [Firing]?

    package init(
      name: String, isPaused: Bool, moments: String?, jobFile: String?, overlap: String?, next: Timestamp?,
      last: Timestamp?, lastFiring: String?, refusal: String? = nil, jobs: [String: Int], history: [Firing]
    ) {
      self.name = name
      self.isPaused = isPaused
      (self.moments, self.jobFile, self.overlap) = (moments, jobFile, overlap)
      self.next = next
      self.last = last
      self.lastFiring = lastFiring
      self.refusal = refusal
      self.jobs = jobs
      self.history = history
    }

    fileprivate var json: JSONValue {
      .object([
        "name": .string(name), "isPaused": .bool(isPaused), "moments": .text(moments), "jobFile": .text(jobFile),
        "overlap": .text(overlap), "next": .time(next), "last": .time(last),
        "lastFiring": .text(lastFiring), "refusal": .text(refusal), "jobs": .counts(jobs),
        "history": .array((history ?? []).map(\.json)),
      ])
    }
  }

  /// A firing of a schedule, and what became of its jobs.
  package struct Firing: Decodable, Sendable {
    package let id: String
    /// When its first job was accepted.
    package let time: Timestamp
    /// The time from then to the end of its last job; nil while one is unfinished.
    package let seconds: Double?
    package let jobs: [String: Int]

    package init(id: String, time: Timestamp, seconds: Double?, jobs: [String: Int]) {
      (self.id, self.time, self.seconds, self.jobs) = (id, time, seconds, jobs)
    }

    fileprivate var json: JSONValue {
      .object(["id": .string(id), "time": .time(time), "seconds": .real(seconds), "jobs": .counts(jobs)])
    }
  }

  package let schedules: [Schedule]

  package init(schedules: [Schedule]) { self.schedules = schedules }

  package var json: JSONValue { .object(["schedules": .array(schedules.map(\.json))]) }
}

/// The reply of `POST /v1/schedules/NAME/run`, `pause` and `resume`.
package struct ScheduleReply: Decodable, Sendable {
  package let name: String
  /// The ID of the firing that was asked for.
  package let firing: String?

  package init(name: String, firing: String? = nil) {
    self.name = name
    self.firing = firing
  }

  package var json: JSONValue { .object(["name": .string(name), "firing": .text(firing)]) }
}
