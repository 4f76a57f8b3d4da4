import Foundation

extension PersonValues {
  /// Writes a CSV file of four columns and about 60 bytes a row; the address has a comma, and so is quoted.
  func writeCSV(rows: Int, to path: String) throws {
    try write("firstName,lastName,age,address\n", rows: rows, to: path) { row in
      "\(first[row % Self.count]),\(last[(row * 7) % Self.count]),\(row % 100),\"\(address(row))\"\n"
    }
  }

  /// Writes the same as objects, one on each line.
  func writeNDJSON(rows: Int, to path: String) throws {
    try write("", rows: rows, to: path) { row in
      #"{"firstName":"\#(first[row % Self.count])","lastName":"\#(last[(row * 7) % Self.count])","#
        + #""age":\#(row % 100),"address":"\#(address(row))"}"# + "\n"
    }
  }

  /// Writes members by their number; another version has other values under the same numbers.
  func writeMembers(rows: Int, to path: String, version: Int) throws {
    try write("number,name,age,address\n", rows: rows, to: path) { row in
      "\(row),\(last[(row * 7 + version) % Self.count]),\(row % 100 + version),\"\(address(row + version))\"\n"
    }
  }

  private func address(_ row: Int) -> String { "\(addresses[(row * 3) % Self.count]), No. \(row)" }

  private func write(_ head: String, rows: Int, to path: String, _ line: (Int) -> String) throws {
    try Data().write(to: URL(filePath: path))
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    defer { file.closeFile() }
    var text = Data(head.utf8)
    for row in 0..<rows {
      text += Data(line(row).utf8)
      if text.count > 1 << 20 {
        try file.write(contentsOf: text)
        text.removeAll(keepingCapacity: true)
      }
    }
    try file.write(contentsOf: text)
    try file.synchronize()
  }
}
