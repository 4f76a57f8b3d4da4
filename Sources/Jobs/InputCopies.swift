package import Foundation
import Synchronization
import SystemSupport

/// An input as it was when its job was accepted.
package struct InputCopy: Sendable {
  /// The path, as the job's arguments have it.
  package let path: String
  package let content: Data
  /// The moment of the file's last change, in nanoseconds since 1970.
  package let modificationTime: Int64

  package init(path: String, content: Data, modificationTime: Int64) {
    self.path = path
    self.content = content
    self.modificationTime = modificationTime
  }
}

/// The copies of inputs that have come with a job, each fetched when it is opened for the first time.
package final class InputCopies: Sendable {
  private let fetch: @Sendable (String) throws -> InputCopy?
  /// Those that were fetched, and the paths of which there is none.
  private let files = Mutex<[String: InMemoryFile?]>([:])

  /// - Parameter fetch: returns the copy of an input; nil if there is none. May be called twice.
  package init(fetch: @escaping @Sendable (String) throws -> InputCopy?) { self.fetch = fetch }

  /// Opens the copy of an input, at its beginning; nil if there is none.
  func open(_ path: String) throws -> FileDescriptor? {
    if let known = files.withLock({ $0[path] }) { return try known?.open() }
    let file = try fetch(path).map { copy throws(SystemError) in try InMemoryFile(copy) }
    files.withLock { $0[path] = .some(file) }
    return try file?.open()
  }
}

private final class InMemoryFile: Sendable {
  private let file: FileDescriptor

  init(_ copy: InputCopy) throws(SystemError) {
    file = try FileDescriptor.inMemory(named: "input")
    try file.writeAll(copy.content)
    // An import that goes on elsewhere compares it.
    try file.setModificationTime(copy.modificationTime)
  }

  func open() throws(SystemError) -> FileDescriptor { try file.reopenedForReading() }
}
