import Foundation
import SystemSupport

/// A job file as it was read, once, when it was claimed; later writes by its submitter change nothing.
struct ClaimedFile: Sendable {
  let name: FileName
  let data: Data
  /// The user who owns the file, or who submitted it over the socket.
  let submitter: UInt32
  /// The ID of a job whose file gives none.
  ///
  /// It covers name, inode, times and size, so that a file which a power cut brings back is the same job, and a new file
  /// of an old name is another, even a copy with the old file's modification time: an inode's number is soon used again.
  let defaultID: String

  /// A file that has no place in the spool yet.
  init(name: FileName, data: Data, submitter: UInt32) {
    self.name = name
    self.data = data
    self.submitter = submitter
    defaultID = ""
  }

  init(name: FileName, data: Data, submitter: UInt32, status: FileStatus, birthTime: Int64) {
    self.name = name
    self.data = data
    self.submitter = submitter
    var hash = StableHash()
    hash.combine(name.bytes)
    for number in [Int64(bitPattern: status.inode), status.modificationTime, status.size, birthTime] {
      withUnsafeBytes(of: number.littleEndian) { hash.combine($0) }
    }
    defaultID = Self.readable(name) + "-" + hash.digits
  }

  /// A form of the name that can be shown anywhere.
  private static func readable(_ name: FileName) -> String {
    var text = name.description
    if text.hasSuffix(".json") { text.removeLast(5) } else if text.hasSuffix(".json5") { text.removeLast(6) }
    let shown = text.unicodeScalars.prefix(60).map { scalar in
      scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || ".-_".unicodeScalars.contains(scalar)
        ? Character(scalar) : "_"
    }
    return String(shown)
  }
}

/// A 64-bit FNV-1a hash, the same in every process; http://www.isthe.com/chongo/tech/comp/fnv/
struct StableHash {
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func combine(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }

  /// The hash as 16 hexadecimal digits.
  var digits: String {
    let text = String(state, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
