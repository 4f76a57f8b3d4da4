import DaemonTesting
import Foundation

/// That a program of a job was started, as it has noted itself, outside of what the daemon keeps.
struct JobStart: Sendable {
  let job: String
  let attempt: Int
  /// The process that started it.
  let daemon: Int32
  /// Where the note ends in the file of all starts: what has been noted later stands behind.
  let end: Int

  static func path(in root: DaemonRoot) -> String { root.directory.path("starts") }

  /// How much has been noted so far, in bytes.
  static func noted(in root: DaemonRoot) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path(in: root))
    // Before the first start there is no file.
    return attributes?[.size] as? Int ?? 0
  }

  /// All that was noted, in order.
  static func all(in root: DaemonRoot) -> [JobStart] {
    let text = FileManager.default.contents(atPath: path(in: root)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    var end = 0
    return text.split(separator: "\n").compactMap { line in
      end += line.utf8.count + 1
      let words = line.split(separator: " ")
      guard words.count == 3, let attempt = Int(words[1]), let daemon = Int32(words[2]) else { return nil }
      return JobStart(job: String(words[0]), attempt: attempt, daemon: daemon, end: end)
    }
  }
}
