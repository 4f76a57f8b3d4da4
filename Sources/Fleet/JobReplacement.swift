package import JSONText
package import Jobs
package import ObjectGraph

/// A specification that takes the place of a known job's.
package struct JobReplacement: Sendable, Equatable {
  /// The reason on record of a job that is only held until it is replaced.
  package static let reason = "it is being replaced"
  /// The files whose replacements a record remembers: the power may be cut before their removal is on disk.
  package static let memory = 16

  package let job: ManagedObjectID
  /// It has the identity of its file among its ``JobSpecification/replacements``, and the number of attempts from now on.
  package var specification: JobSpecification
  /// The place where the job has to run; nil for any host.
  package let place: String?
  /// The key for the record of the run before, which is kept if that is over.
  package let attemptKey: Int64

  package init(job: ManagedObjectID, specification: JobSpecification, place: String?, attemptKey: Int64) {
    self.job = job
    self.specification = specification
    self.place = place
    self.attemptKey = attemptKey
  }

  /// True if its file has replaced the job already.
  func isMade(of row: FleetJob) -> Bool {
    specification.replacements.contains(where: row.specification.replacements.contains)
  }

  /// The replacement with what stays of a job's record.
  ///
  /// - Parameter attempts: the attempts that the job has had.
  func following(_ row: FleetJob, attempts: Int) -> JobReplacement {
    var new = self
    let earlier = row.specification
    new.specification.replacements = Array(
      (earlier.replacements + specification.replacements).suffix(Self.memory))
    new.specification.madeOf = earlier.madeOf
    // Who sends it again need not know in which trace it was.
    new.specification.trace = specification.trace ?? earlier.trace
    new.specification.earlierAttempts = attempts
    return new
  }
}

/// Other arguments for a job that does not run.
package struct ArgumentChange: Sendable, Equatable {
  package let job: ManagedObjectID
  package let arguments: JSONValue
  /// The arguments of which they are made: if the record has others by now, nothing is changed.
  package let seen: JSONValue
  /// The place where the job has to run with these; nil for any host.
  package let place: String?

  package init(job: ManagedObjectID, arguments: JSONValue, seen: JSONValue, place: String?) {
    self.job = job
    self.arguments = arguments
    self.seen = seen
    self.place = place
  }
}
