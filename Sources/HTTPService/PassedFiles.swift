import Synchronization
package import SystemSupport

/// Open files that a client has passed over a Unix socket (`SCM_RIGHTS`), for the first request of its connection.
///
/// They come with the first bytes of the connection. The HTTP library reads these without them, so the server looks before it
/// hands the connection over.
package final class PassedFiles: Sendable {
  package let count: Int
  /// Nil once they were handed out.
  private let files: Mutex<ReceivedDescriptors?>

  private init(_ files: consuming ReceivedDescriptors) {
    count = files.count
    self.files = Mutex(files)
  }

  /// Hands the files out, in the order in which they were passed; nil the second time.
  package func take() -> ReceivedDescriptors? { files.withLock { $0.take() } }

  /// Takes the files that come with what a connection has to read, which stays there; nil if none do.
  static func receive(from client: borrowing FileDescriptor) -> PassedFiles? {
    // Whatever is wrong with them, the request is told that it lacks them.
    guard let message = try? DescriptorSocket.peek(client, limit: 1), message.descriptors.count > 0 else { return nil }
    return PassedFiles(message.relinquishDescriptors())
  }
}

/// The files that were passed before first requests which have not come yet.
final class PassedFilesTable: Sendable {
  private let files = Mutex<[UInt64: PassedFiles]>([:])

  /// Keeps the files of a connection; closes them if there are more than so many then.
  func keep(_ passed: PassedFiles, of connection: UInt64, limit: Int) {
    files.withLock { files in
      if files.values.reduce(passed.count, { $0 + $1.count }) <= limit { files[connection] = passed }
    }
  }

  /// Hands out the files of a connection, if it has any.
  @discardableResult
  func take(of connection: UInt64) -> PassedFiles? { files.withLock { $0.removeValue(forKey: connection) } }
}
