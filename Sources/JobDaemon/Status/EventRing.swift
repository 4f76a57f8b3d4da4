import JSONText
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

  /// The event in the form of the HTML standard, section "Server-sent events".
  func text(as id: String) -> [UInt8] {
    Array("id: \(id)\nevent: \(kind.rawValue)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }

  static func removed(_ subject: Subject) -> StatusEvent {
    StatusEvent(
      kind: .removed, data: JSONValue.object(["id": .string(subject.id)]).serializedBytes(), subject: subject)
  }
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
  func kind(of kind: StatusEvent.Kind, about subject: StatusEvent.Subject?) -> StatusEvent.Kind? {
    guard let subject else {
      // Whoever follows one job misses nothing of it while others are left out.
      return kind == .reset && id != nil ? nil : kind
    }
    for (wanted, value) in [(id, subject.id), (type, subject.type), (queue, subject.queue), (batch, subject.batch)] {
      if let wanted, wanted != value { return nil }
    }
    guard kind == .job, !states.isEmpty, let state = subject.state else { return kind }
    return states.contains(state) ? .job : .removed
  }
}

/// The last events, by ascending numbers: bounded in their number and in bytes.
struct EventRing {
  /// An event as all readers are sent it, with what their filters ask of it.
  struct Entry: Sendable {
    let kind: StatusEvent.Kind
    let subject: StatusEvent.Subject?
    let text: [UInt8]
  }

  private static let countLimit = 2_000
  private static let byteLimit = 2 << 20

  /// Distinguishes the numbers of this run from those of others.
  let epoch = String(UInt32.random(in: .min ... .max), radix: 36)
  private var entries: [Entry] = []
  /// The index of the oldest that is kept.
  private var start = 0
  private var bytes = 0
  /// The number of the next event.
  private(set) var next: UInt64 = 1

  /// The number of the oldest event.
  private var first: UInt64 { next - UInt64(entries.count - start) }

  mutating func append(_ event: StatusEvent) {
    let entry = Entry(kind: event.kind, subject: event.subject, text: event.text(as: identifier(of: next)))
    entries.append(entry)
    bytes += entry.text.count
    next += 1
    while entries.count - start > Self.countLimit || bytes > Self.byteLimit {
      bytes -= entries[start].text.count
      start += 1
    }
    if start > Self.countLimit {
      entries.removeFirst(start)
      start = 0
    }
  }

  /// Forgets all events, and that there were none since: whoever knows only these has missed some.
  mutating func forget() {
    entries = []
    (start, bytes) = (0, 0)
    next += 1
  }

  /// True if all events from a number on are there.
  func has(from number: UInt64) -> Bool { number >= first && number <= next }

  func entry(_ number: UInt64) -> Entry { entries[start + Int(number - first)] }

  /// The ID by which a client tells that it has received the event of a number.
  func identifier(of number: UInt64) -> String { "\(epoch)-\(number)" }
}
