import Foundation
import Glibc
import Synchronization
import SystemSupport

/// Open files that a client has passed over a Unix socket (`SCM_RIGHTS`), for the first request of its connection.
///
/// They come with an empty line before the request. The HTTP library drops what comes with the bytes that it reads, so the
/// server takes the line before it hands the connection over.
package final class PassedFiles: Sendable {
  /// Zero if some may have come, and were dropped, as too many were open already.
  package let count: Int
  /// Nil once they were read.
  private let numbers: Mutex<[Int32]?>
  private let closed: @Sendable () -> Void

  /// - Parameter closed: called when all are closed, on any thread.
  fileprivate init(owning numbers: [Int32] = [], closed: @escaping @Sendable () -> Void = {}) {
    count = numbers.count
    self.numbers = Mutex(numbers)
    self.closed = closed
  }

  deinit { close(numbers.withLock { $0.take() } ?? []) }

  /// Lets a closure read the files, by their numbers, in the order in which they were passed, and closes them.
  ///
  /// - Returns: what the closure returns; nil the second time, and if they were dropped.
  package func read<Result>(_ body: ([Int32]) throws -> Result) rethrows -> Result? {
    guard let numbers = numbers.withLock({ $0.take() }), !numbers.isEmpty else { return nil }
    defer { close(numbers) }
    return try body(numbers)
  }

  /// Closes files on a thread of their own: whoever owns their file system may let it wait for ever.
  private func close(_ numbers: [Int32]) {
    if numbers.isEmpty { return }
    let closed = closed
    Thread.detachNewThread {
      for number in numbers { _ = Glibc.close(number) }
      closed()
    }
  }

  /// Files that come with something else than an empty line, or too many at a time.
  struct Misplaced: Error {
    /// The reply that tells the client.
    static let response = HTTPResponse.failure(
      400, code: "bad-descriptor",
      message: "open files come with an empty line (CR LF) before the request, and at most "
        + "\(DescriptorSocket.maximumDescriptorCount) at a time")
  }
}

/// The files that were passed before first requests which have not come yet, and the number of all that are open.
final class PassedFilesTable: Sendable {
  private struct State {
    var files: [UInt64: PassedFiles] = [:]
    /// The files that are not closed yet, whoever has them.
    var counts: [HTTPClient.Account: Int] = [:]

    /// True if so many more files of an account are not too many.
    func hasRoom(for count: Int, of account: HTTPClient.Account, _ limits: HTTPServerLimits) -> Bool {
      counts[account, default: 0] + count <= limits.passedFilesPerUser
        && counts.values.reduce(0, +) + count <= limits.passedFiles
    }

    mutating func add(_ count: Int, of account: HTTPClient.Account) {
      let sum = counts[account, default: 0] + count
      counts[account] = sum == 0 ? nil : sum
    }
  }

  private static let line = Data("\r\n".utf8)

  private let state = Mutex(State())

  /// Takes and keeps the files that come with an empty line (CR LF), and the line.
  ///
  /// The line has to go: bytes that descriptors came with end a read, which the library takes for the end of what there is.
  /// - Throws: ``PassedFiles/Misplaced``.
  func receive(
    from client: borrowing FileDescriptor, of connection: UInt64, _ account: HTTPClient.Account,
    _ limits: HTTPServerLimits
  ) throws(PassedFiles.Misplaced) {
    if !state.withLock({ $0.hasRoom(for: 1, of: account, limits) }) {
      // The kernel drops what comes with bytes that are read without it.
      if Self.nextBytes(of: client, Int32(MSG_PEEK)) == Self.line, Self.nextBytes(of: client) == Self.line {
        keep(PassedFiles(), of: connection)
      }
      return
    }
    // Whatever is wrong with the connection, the library finds it as well.
    guard let message = try? DescriptorSocket.peek(client, limit: Self.line.count), message.descriptors.count > 0 else {
      return
    }
    let (isWhole, isLine) = (message.isWhole, message.data == Self.line)
    let numbers = message.relinquishDescriptors().relinquish()
    let hasRoom = state.withLock { state in
      // Those that make it too many are counted, too, until they are closed.
      defer { state.add(numbers.count, of: account) }
      return state.hasRoom(for: numbers.count, of: account, limits)
    }
    let files = PassedFiles(owning: numbers) { [weak self] in
      self?.state.withLock { $0.add(-numbers.count, of: account) }
    }
    guard isWhole, isLine, Self.nextBytes(of: client) == Self.line else { throw PassedFiles.Misplaced() }
    keep(hasRoom ? files : PassedFiles(), of: connection)
  }

  private func keep(_ files: PassedFiles, of connection: UInt64) { state.withLock { $0.files[connection] = files } }

  /// The bytes that come next, as many as the line has.
  private static func nextBytes(of client: borrowing FileDescriptor, _ flags: Int32 = 0) -> Data {
    var bytes = [UInt8](repeating: 0, count: line.count)
    let count = recv(client.number, &bytes, bytes.count, Int32(MSG_DONTWAIT) | flags)
    return Data(bytes.prefix(max(0, count)))
  }

  /// Hands out the files of a connection, if it has any.
  @discardableResult
  func take(of connection: UInt64) -> PassedFiles? { state.withLock { $0.files.removeValue(forKey: connection) } }
}
