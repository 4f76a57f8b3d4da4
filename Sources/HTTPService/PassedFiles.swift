import Foundation
import Glibc
import Synchronization
package import SystemSupport

/// Open files that a client has passed over a Unix socket (`SCM_RIGHTS`), for the first request of its connection.
///
/// They come with an empty line before the request. The HTTP library drops what comes with the bytes that it reads, so the
/// server takes the line before it hands the connection over.
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

  /// Takes the files that come with an empty line (CR LF), and the line.
  ///
  /// The line has to go: bytes that descriptors came with end a read, which the library takes for the end of what there is.
  /// - Returns: Nil if none come.
  /// - Throws: ``Misplaced``.
  static func receive(from client: borrowing FileDescriptor) throws(Misplaced) -> PassedFiles? {
    var line: [UInt8] = [0, 0]
    let message: DescriptorMessage?
    do throws(SystemError) { message = try DescriptorSocket.peek(client, limit: line.count) } catch {
      // Whatever else is wrong with the connection, the library finds it as well.
      if error.code == .badMessage { throw Misplaced() }
      return nil
    }
    guard let message, message.descriptors.count > 0 else { return nil }
    guard message.data == Data("\r\n".utf8), recv(client.number, &line, line.count, Int32(MSG_DONTWAIT)) == line.count
    else { throw Misplaced() }
    return PassedFiles(message.relinquishDescriptors())
  }

  /// Files that come with something else than an empty line, or too many.
  struct Misplaced: Error {
    /// The reply that tells the client.
    static let response = HTTPResponse.failure(
      400, code: "bad-descriptor",
      message: "open files come with an empty line (CR LF) before the request, and at most "
        + "\(DescriptorSocket.maximumDescriptorCount) at a time")
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
