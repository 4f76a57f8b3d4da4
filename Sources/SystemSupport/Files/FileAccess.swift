import CLinux
import Glibc

/// The mode in which a file is opened.
package enum FileAccess: Sendable {
  case reading
  case writing
  case readingAndWriting
  /// Writes at the end; the file is created if it is missing.
  case appending
  /// Reads and writes; the file is created if it is missing.
  case creating
  /// Reads and writes a file that must not exist yet.
  case creatingExclusively

  var flags: Int32 {
    switch self {
    case .reading: O_RDONLY
    case .writing: O_WRONLY
    case .readingAndWriting: O_RDWR
    case .appending: O_WRONLY | O_CREAT | O_APPEND
    case .creating: O_RDWR | O_CREAT
    case .creatingExclusively: O_RDWR | O_CREAT | O_EXCL
    }
  }
}
