/// A reading transaction among the others, by the numbers of the server, which grow with each that writes.
package struct TransactionHorizon: Sendable, Equatable {
  /// The number of the one that reads.
  package let own: Int64
  /// The number of the oldest that was under way when it read.
  package let oldest: Int64
  /// The timeline of the server, on which these numbers count.
  package let timeline: Int64

  package init(own: Int64, oldest: Int64, timeline: Int64 = 1) {
    self.own = own
    self.oldest = oldest
    self.timeline = timeline
  }
}

/// The number up to which news are not looked for any more.
///
/// News get their numbers before their transactions commit, so that a lower one may come after a higher one. Rows that are
/// gone stay in the index while somebody has an old snapshot open, and are met by each search that begins below them.
package struct NewsFloor: Sendable {
  /// The time after which no transaction is under way any more, in milliseconds.
  private let longestTransaction: Int64
  package private(set) var number: Int64 = 0
  /// The highest number that was read.
  private var highest: Int64 = 0
  /// The highest number at a time, and a transaction that began after that; the number becomes the floor when all
  /// earlier ones have ended.
  private var mark: (number: Int64, time: Int64, successor: Int64?)?
  private var timeline: Int64?

  package init(longestTransaction: Int64 = FleetTimes().longestTransaction) {
    self.longestTransaction = longestTransaction
  }

  /// Takes in what a transaction has read.
  package mutating func note(_ numbers: some Sequence<Int64>, _ horizon: TransactionHorizon, at time: Int64) {
    if let timeline, timeline != horizon.timeline {
      // Behind a failover numbers may begin again where another server was.
      self = NewsFloor(longestTransaction: longestTransaction)
    }
    timeline = horizon.timeline
    // First, since what had ended when it read is among what it has read.
    if let mark {
      if let successor = mark.successor {
        if horizon.oldest >= successor { reach(mark.number) }
      } else {
        self.mark?.successor = horizon.own
      }
    }
    highest = numbers.reduce(highest, max)
    if mark == nil { mark = (highest, time, nil) }
  }

  /// Takes in how much time has passed, for a transaction that lasts as long as it may.
  package mutating func note(_ time: Int64) {
    if let mark, time - mark.time >= longestTransaction { reach(mark.number) }
  }

  private mutating func reach(_ number: Int64) {
    self.number = number
    mark = nil
  }
}
