/// A reading transaction among the others, by the numbers of the server, which grow with each that writes.
package struct TransactionHorizon: Sendable, Equatable {
  /// The number of the one that reads.
  package let own: Int64
  /// The number of the oldest that was under way when it read.
  package let oldest: Int64
  /// The timeline of the server, on which these numbers count.
  package let timeline: Int64
  /// The names of the others that may have written news and were under way when it read; nil if nobody asked for them.
  package let writers: Set<String>?

  package init(own: Int64, oldest: Int64, timeline: Int64 = 1, writers: Set<String>? = nil) {
    self.own = own
    self.oldest = oldest
    self.timeline = timeline
    self.writers = writers
  }
}

/// The number up to which news are not looked for any more.
///
/// News get their numbers before their transactions commit, so that a lower one may come after a higher one. Rows that are
/// gone stay in the index while somebody has an old snapshot open, and are met by each search that begins below them.
///
/// No time tells that a transaction has ended: its commit may wait for a standby, or the server stand still. Their numbers
/// tell it, but among them are those of other programs, which may go on for hours: then the transactions that write news are
/// asked for by name.
package struct NewsFloor: Sendable {
  /// A number that is to become the floor.
  private struct Mark {
    /// The highest number at a time.
    let number: Int64
    /// The time, or that of the last look for writers.
    var time: Int64
    /// A transaction that began after that: the number becomes the floor when all earlier ones have ended.
    var successor: Int64?
    /// True if one of them was under way at the last read.
    var isHeld = false
    /// The writers at a later time: the number becomes the floor as well when all of these have ended.
    var writers: Set<String>?
  }

  /// The milliseconds for which writers are not asked for, which costs the server a look at all locks.
  private let patience: Int64
  package private(set) var number: Int64 = 0
  /// The highest number that was read.
  private var highest: Int64 = 0
  private var mark: Mark?
  private var timeline: Int64?

  package init(patience: Int64 = FleetTimes().writerPatience) { self.patience = patience }

  /// True if the next transaction that reads is to ask for the writers, before it reads.
  package func asksForWriters(at time: Int64) -> Bool { mark.map { $0.isHeld && time - $0.time >= patience } ?? false }

  /// Takes in what a transaction has read.
  package mutating func note(_ numbers: some Sequence<Int64>, _ horizon: TransactionHorizon, at time: Int64) {
    if let timeline, timeline != horizon.timeline {
      // Behind a failover numbers may begin again where another server was.
      self = NewsFloor(patience: patience)
    }
    timeline = horizon.timeline
    // First, since what had ended when it read is among what it has read.
    if let mark, hasReached(mark, horizon) {
      number = mark.number
      self.mark = nil
    }
    highest = numbers.reduce(highest, max)
    guard var mark else { return mark = Mark(number: highest, time: time) }
    mark.isHeld = mark.successor != nil
    mark.successor = mark.successor ?? horizon.own
    if let writers = horizon.writers {
      mark.writers = mark.writers ?? writers
      mark.time = time
    }
    self.mark = mark
  }

  /// True if all transactions have ended that may have drawn a number below the mark.
  private func hasReached(_ mark: Mark, _ horizon: TransactionHorizon) -> Bool {
    if let successor = mark.successor, horizon.oldest >= successor { return true }
    guard let writers = horizon.writers else { return false }
    return writers.isDisjoint(with: mark.writers ?? writers)
  }
}
