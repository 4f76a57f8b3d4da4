import Foundation
internal import Glibc
import SystemSupport

/// Reads the files that are submitted.
enum JobFileInput {
  /// No daemon takes job files of this size, whatever its configuration; its own limit is lower.
  private static let maximumBytes = 16 << 20

  /// The whole file, which may be a pipe; `-` is standard input.
  static func read(_ file: String) throws(ToolError) -> Data {
    do throws(SystemError) {
      return try open(file).readAll(limit: maximumBytes)
    } catch  where error.code == .fileTooLarge {
      throw ToolError(.refused, "it has more than \(maximumBytes) bytes, which is more than any job file may have")
    } catch {
      throw ToolError(.unreadableFile, "it can't be read: \(error.code)")
    }
  }

  private static func open(_ file: String) throws(SystemError) -> FileDescriptor {
    guard file == "-" else { return try .open(file) }
    // A descriptor of our own: the original stays open for whoever shares it.
    return FileDescriptor(owning: try systemCall("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
  }
}
