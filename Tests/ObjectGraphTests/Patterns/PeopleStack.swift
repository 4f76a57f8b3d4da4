import Foundation
import ObjectGraph
import TestSupport

extension Stack {
  /// A stack whose store holds persons of ages 0 to `count` - 1, named and without objects in any context.
  static func people(_ count: Int = 1_000) throws -> Stack {
    let stack = try Stack(People.model)
    try stack.root("importer").performAndWait { importer in
      for age in 0..<count {
        let person = Person(context: importer)
        person.firstName = "First \(age)"
        person.lastName = "Last \(age % 10)"
        person.age = Int64(age)
      }
      try importer.save()
    }
    return stack
  }

  /// The IDs of the persons whose age is in a range, by age.
  func ids(_ ages: ClosedRange<Int64>) throws -> [ManagedObjectID] {
    try root("background").performAndWait { try $0.fetchIDs(.people(ages)) }
  }

  /// Reads rows by nobody's cache: a second coordinator on the same store.
  ///
  /// It hears of no commits: a server may tell it late of one from before, and what it has read would be read again.
  func freshCoordinator() throws -> Stack { try Stack(People.model, place: place, noticesOtherWriters: false) }

  /// The statements that selected rows with values, with the number of rows of each.
  func rowReads(_ body: () throws -> Void) rethrows -> [Int] {
    _ = statements.drain()
    try body()
    return statements.drain().filter { $0.sql.hasPrefix("SELECT") && $0.sql.contains("firstName") }.map(\.rowCount)
  }
}

extension FetchRequest<Person> {
  /// Persons of some ages, by age.
  static func people(_ ages: ClosedRange<Int64>) -> Self {
    FetchRequest(
      .between(.keyPath(["age"]), lower: .value(.integer(ages.lowerBound)), upper: .value(.integer(ages.upperBound))),
      sortBy: [.ascending("age")])
  }
}
