import Foundation

/// What the generated rows hold; Benchmarks/Peers/insert_rows.c has the same values.
struct PersonValues {
  static let count = 1000
  let first = (0..<count).map { "First\($0)" }
  let last = (0..<count).map { "Lastname\($0)" }
  let addresses = (0..<count).map { "\($0) Long Street, Townsville" }

  /// Writes a CSV file of four columns and about 60 bytes a row; the address has a comma, and so is quoted.
  func writeCSV(rows: Int, to path: String) throws {
    try Data().write(to: URL(filePath: path))
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    defer { file.closeFile() }
    var text = Data("firstName,lastName,age,address\n".utf8)
    for row in 0..<rows {
      text += Data("\(first[row % Self.count]),\(last[(row * 7) % Self.count]),\(row % 100),".utf8)
      text += Data("\"\(addresses[(row * 3) % Self.count]), No. \(row)\"\n".utf8)
      if text.count > 1 << 20 {
        try file.write(contentsOf: text)
        text.removeAll(keepingCapacity: true)
      }
    }
    try file.write(contentsOf: text)
    try file.synchronize()
  }
}
