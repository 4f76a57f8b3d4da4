/// What was read of the objects of a fetch: both sides must have come upon the same.
struct FetchCheck: Equatable {
  private(set) var count = 0
  private(set) var ages: Int64 = 0
  private(set) var bytes = 0

  init() {}

  /// The rows with these numbers, as ``PersonValues`` has them.
  init(_ rows: some Sequence<Int>, _ values: PersonValues) {
    for row in rows {
      let value = row % PersonValues.count
      add(values.first[value], values.last[value], Int64(row % 100), values.addresses[value])
    }
  }

  @inline(__always)
  mutating func add(_ first: String?, _ last: String?, _ age: Int64, _ address: String?) {
    count += 1
    ages += age
    bytes += (first?.utf8.count ?? 0) + (last?.utf8.count ?? 0) + (address?.utf8.count ?? 0)
  }

  func compare(with expected: FetchCheck) throws {
    guard self == expected else { throw BenchError("the fetch should find \(expected), but found \(self)") }
  }
}
