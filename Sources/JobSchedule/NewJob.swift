package import Jobs
package import ObjectGraph

/// A job to be put into the schedule.
package struct NewJob: Sendable {
  package let id: ManagedObjectID
  package let file: LiveFile?
  package var specification: JobSpecification
  /// The ID by which others name it.
  package let name: String
  package var isHeld = false
  /// The time of its next attempt, in milliseconds of the wall clock, if an attempt has failed.
  package var retryTime: Int64?
  /// Unfinished jobs that it waits for.
  package var blockers: [Blocker] = []
  /// The known jobs that it names, final or not.
  package var needs: [ManagedObjectID] = []
  /// The time when it could have started first, in milliseconds of the wall clock, which gives it its place; nil for now.
  package var readyTime: Int64?
  /// True if it has not waited since then: an attempt was cut short.
  package var isResumed = false
  /// The hosts of a fleet that can run it, by the name that ``Schedule/setRoom(_:at:now:)`` uses; nil for this one.
  package var place: String?
  /// The file whose jobs start together when all of them are admitted, by the name that ``Schedule/setRoom(_:of:now:)``
  /// uses; nil if it may start at once.
  package var wholeFile: String?

  package init(
    id: ManagedObjectID, file: LiveFile?, specification: JobSpecification, name: String, isHeld: Bool = false,
    retryTime: Int64? = nil, blockers: [Blocker] = [], needs: [ManagedObjectID] = [], readyTime: Int64? = nil,
    place: String? = nil
  ) {
    self.id = id
    self.file = file
    self.specification = specification
    self.name = name
    self.isHeld = isHeld
    self.retryTime = retryTime
    self.blockers = blockers
    self.needs = needs
    self.readyTime = readyTime
    self.place = place
  }

  /// Something that a job waits for.
  package struct Blocker: Sendable {
    package enum Subject: Sendable {
      case job(ManagedObjectID)
      /// A job that is not known yet.
      case name(String)
      case batch(String)
    }

    package let subject: Subject
    /// True if it may fail.
    package let mayFail: Bool

    package init(subject: Subject, mayFail: Bool) {
      self.subject = subject
      self.mayFail = mayFail
    }
  }
}
