/// What the generated rows hold; Benchmarks/Peers/insert_rows.c has the same values.
struct PersonValues {
  static let count = 1000
  let first = (0..<count).map { "First\($0)" }
  let last = (0..<count).map { "Lastname\($0)" }
  let addresses = (0..<count).map { "\($0) Long Street, Townsville" }
}
