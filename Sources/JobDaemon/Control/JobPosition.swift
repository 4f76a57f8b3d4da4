import Foundation
import Jobs
import ObjectGraph

/// A place in the list of all jobs, which are ordered by when they were accepted, and then by their IDs.
struct JobPosition: Sendable, Equatable {
  let createdAt: Date
  let id: String

  init(createdAt: Date, id: String) { (self.createdAt, self.id) = (createdAt, id) }

  init(_ job: Job) { self.init(createdAt: job.createdAt ?? .distantPast, id: job.id) }
}

/// The order of a list.
enum JobOrder: String, Sendable, CaseIterable {
  case newest, oldest

  /// True if one position comes before another.
  func precedes(_ left: JobPosition, _ right: JobPosition) -> Bool {
    if left.createdAt == right.createdAt { return left.id.utf8.lexicographicallyPrecedes(right.id.utf8) }
    return (left.createdAt > right.createdAt) == (self == .newest)
  }

  var sorts: [Sort<Job>] {
    [Sort(\.createdAt, isAscending: self == .oldest), .ascending(\.id)]
  }

  /// The condition to come behind a position, which an index on the time can answer.
  func condition(behind position: JobPosition) throws -> Condition {
    let sign = self == .newest ? "<" : ">"
    let (time, id) = (position.createdAt, position.id)
    return try Condition(
      format: "createdAt \(sign)= %@ AND (createdAt \(sign) %@ OR id > %@)", time, time, id)
  }
}

/// The start of a page: behind a position, in an order; opaque to clients.
struct JobCursor: Sendable, Equatable {
  let order: JobOrder
  let position: JobPosition
  /// The count that the first page told.
  let count: JobCount

  var text: String {
    let fields = [
      order.rawValue, String(position.createdAt.timeIntervalSinceReferenceDate.bitPattern, radix: 16),
      String(count.number), count.isAtLeast ? "+" : "", position.id,
    ]
    return Data(fields.joined(separator: "/").utf8).base64URLText
  }

  init(order: JobOrder, position: JobPosition, count: JobCount) {
    (self.order, self.position, self.count) = (order, position, count)
  }

  /// Reads a cursor; nil for a text that no list has told.
  init?(_ text: String) {
    guard let data = Data(base64URLText: text), let decoded = String(data: data, encoding: .utf8) else { return nil }
    let fields = decoded.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 5, let order = JobOrder(rawValue: fields[0]), let bits = UInt64(fields[1], radix: 16),
      let number = Int(fields[2]), number >= 0, ["", "+"].contains(fields[3])
    else { return nil }
    let time = Double(bitPattern: bits)
    guard time.isFinite else { return nil }
    self.order = order
    position = JobPosition(createdAt: Date(timeIntervalSinceReferenceDate: time), id: fields[4])
    count = JobCount(number: number, isAtLeast: fields[3] == "+")
  }
}

/// The number of jobs that match, or how many there are at least.
struct JobCount: Sendable, Equatable {
  var number = 0
  var isAtLeast = false
}
