import Foundation
import SystemSupport

/// Whose job a file is: its owner, unless the daemon made the file for somebody else.
///
/// A job that came over the socket lies in a file of the daemon's, whose name says who sent it. It must be known from
/// the file alone, since the next start may have nothing else. Nobody else can own such a file, and a file that a job
/// has made for its submitter carries that submitter's mark, so nobody gains rights by dropping one.
enum Submitter {
  private static let prefix = "submitted-"

  /// A name, used by nobody else, for a file that holds the jobs a user sent.
  static func fileName(for user: UInt32) -> FileName { FileName("\(prefix)\(user)-\(UUID().uuidString).json") }

  /// The user whom a job file stands for.
  static func user(of file: borrowing FileDescriptor, _ name: FileName, _ status: FileStatus) throws(SystemError)
    -> UInt32
  {
    guard status.owner == Credentials.effectiveUser else { return status.owner }
    if let marked = try OutputMark.user(of: file) { return marked }
    return sender(name) ?? status.owner
  }

  /// Whether a file was made for jobs that came over the socket.
  static func isSent(_ name: FileName) -> Bool { sender(name) != nil }

  private static func sender(_ name: FileName) -> UInt32? {
    guard let text = name.string, text.hasPrefix(prefix) else { return nil }
    return text.dropFirst(prefix.count).split(separator: "-").first.flatMap { UInt32($0) }
  }
}
