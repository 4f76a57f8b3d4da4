import Jobs

/// An event of the status interface: something that those who follow it are told.
struct StatusEvent: Sendable {
  /// The subject of an event about a job.
  struct Subject: Sendable, Equatable {
    let id: String
    let type: String
    let queue: String
    let batch: String?
    /// Nil for one that is gone.
    let state: JobState?
  }

  enum Kind: String, Sendable {
    /// A job has changed, or is new; the data is its element in lists of jobs.
    case job
    /// A job is gone, or none of those that the reader asked for any more; the data has its `id`.
    case removed
    /// The numbers of jobs, pauses and workers.
    case status
    /// A call to read everything anew, since the reader has missed something; the data has the `reason`.
    case reset
  }

  let kind: Kind
  /// A JSON text without line breaks.
  let data: [UInt8]
  var subject: Subject?
}

/// The jobs that a reader of events follows; every condition is met.
struct EventFilter: Sendable, Equatable {
  /// Empty for all states.
  var states: Set<JobState> = []
  var type: String?
  var queue: String?
  var batch: String?
  var id: String?

  /// The kind of event that an event is for this reader; nil if it is none.
  func kind(of event: StatusEvent) -> StatusEvent.Kind? {
    guard let subject = event.subject else {
      // Whoever follows one job misses nothing of it while others are left out.
      return event.kind == .reset && id != nil ? nil : event.kind
    }
    for (wanted, value) in [(id, subject.id), (type, subject.type), (queue, subject.queue), (batch, subject.batch)] {
      if let wanted, wanted != value { return nil }
    }
    guard event.kind == .job, !states.isEmpty, let state = subject.state else { return event.kind }
    return states.contains(state) ? .job : .removed
  }
}

/// The last events, by ascending numbers: bounded in their number and in bytes.
struct EventRing {
  private static let countLimit = 2_000
  private static let byteLimit = 2 << 20

  private var events: [StatusEvent] = []
  /// The index of the oldest that is kept.
  private var start = 0
  private var bytes = 0
  /// The number of the next event.
  private(set) var next: UInt64 = 1

  /// The number of the oldest event.
  private var first: UInt64 { next - UInt64(events.count - start) }

  mutating func append(_ event: StatusEvent) {
    events.append(event)
    bytes += event.data.count
    next += 1
    while events.count - start > Self.countLimit || bytes > Self.byteLimit {
      bytes -= events[start].data.count
      start += 1
    }
    if start > Self.countLimit {
      events.removeFirst(start)
      start = 0
    }
  }

  /// Forgets all events, and that there were none since: whoever knows only these has missed some.
  mutating func forget() {
    events = []
    (start, bytes) = (0, 0)
    next += 1
  }

  /// True if all events from a number on are there.
  func has(from number: UInt64) -> Bool { number >= first && number <= next }

  func event(_ number: UInt64) -> StatusEvent { events[start + Int(number - first)] }
}
