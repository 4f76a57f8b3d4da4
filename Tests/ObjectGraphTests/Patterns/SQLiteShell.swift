import Foundation
import Glibc

/// Reads a store with SQLite's own program: another process, and none of our code.
struct SQLiteShell {
  let path: String

  struct Failure: Error {
    let status: Int32
    let output: String
  }

  /// The output of a statement, with the values of a row separated by bars.
  func run(_ sql: String) throws -> String {
    func quoted(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'" }
    guard let pipe = popen("sqlite3 -batch \(quoted(path)) \(quoted(sql)) 2>&1", "re") else {
      throw Failure(status: errno, output: "popen")
    }
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
    let status = pclose(pipe)
    let text = String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard status == 0 else { throw Failure(status: status, output: text) }
    return text
  }
}
