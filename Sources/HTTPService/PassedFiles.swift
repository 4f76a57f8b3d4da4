import Dispatch
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
  /// Told when the request is over, and the files that nobody has taken are closed.
  fileprivate let closed = Mutex<(@Sendable () -> Void)?>(nil)

  /// Closing may wait for the owner of a file system, so it is done where nobody else waits.
  private static let closing = DispatchQueue(label: "passed files")

  private init(_ files: consuming ReceivedDescriptors) {
    count = files.count
    self.files = Mutex(files)
  }

  deinit {
    let (files, closed) = (take()?.relinquish() ?? [], closed.withLock { $0.take() })
    Self.closing.async {
      _ = ReceivedDescriptors(owning: files)
      closed?()
    }
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
    let isLine = message.data == Data("\r\n".utf8)
    let files = PassedFiles(message.relinquishDescriptors())
    guard isLine, recv(client.number, &line, line.count, Int32(MSG_DONTWAIT)) == line.count else { throw Misplaced() }
    return files
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
  private struct State {
    var files: [UInt64: PassedFiles] = [:]
    /// The files of all requests that are not over, and of connections.
    var count = 0
  }

  private let state = Mutex(State())

  /// Keeps the files of a connection; closes them if that makes more than so many.
  func keep(_ passed: PassedFiles, of connection: UInt64, limit: Int) {
    let count = passed.count
    let isKept = state.withLock { state in
      if state.count + count > limit { return false }
      state.count += count
      state.files[connection] = passed
      return true
    }
    guard isKept else { return }
    passed.closed.withLock { $0 = { [weak self] in self?.state.withLock { $0.count -= count } } }
  }

  /// Hands out the files of a connection, if it has any.
  @discardableResult
  func take(of connection: UInt64) -> PassedFiles? { state.withLock { $0.files.removeValue(forKey: connection) } }
}
