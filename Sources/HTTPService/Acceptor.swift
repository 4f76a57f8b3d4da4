import Dispatch
import Glibc
import Synchronization
import SystemSupport

/// Accepts clients and hands them to the library; each is counted and has a deadline before it sends a byte.
///
/// Everything here happens on its queue. It owns a duplicate of the listening descriptor: the original stays open and
/// listening, whoever owns it.
final class Acceptor: Sendable {
  private let listener: FileDescriptor
  private let isUnix: Bool
  private let core: ServerCore
  private let library: LibraryDaemon
  private let queue: DispatchQueue
  private let cancelled = DispatchSemaphore(value: 0)
  // Dispatch's objects may be used from any thread; the module doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead
  /// Clients that have sent nothing yet, by their numbers in the table, where files may come with the first bytes.
  private let silent = Mutex<[UInt64: SilentClient]>([:])

  /// One wake-up accepts at most this many, so that a flood can't keep the deadlines on the same queue waiting.
  private static let batch = 64

  /// - Parameter listener: A duplicate; must not block.
  init(
    listener: consuming FileDescriptor, isUnix: Bool, core: ServerCore, library: LibraryDaemon, queue: DispatchQueue
  ) {
    source = DispatchSource.makeReadSource(fileDescriptor: listener.number, queue: queue)
    self.listener = listener
    self.isUnix = isUnix
    self.core = core
    self.library = library
    self.queue = queue
  }

  func start() {
    source.setEventHandler { [weak self] in self?.acceptWaiting() }
    source.setCancelHandler { [cancelled] in cancelled.signal() }
    source.activate()
  }

  /// Stops accepting; returns when the duplicate is out of use. Called once.
  func stop() {
    source.cancel()
    // The queue runs only short blocks of this server, the cancel handler among them.
    cancelled.wait()
    queue.sync { for id in silent.withLock({ Array($0.keys) }) { handOver(id) } }
  }

  private func acceptWaiting() {
    for _ in 0..<Self.batch {
      do {
        guard try acceptNext() else { return }
      } catch let error where error.code == .init(rawValue: ECONNABORTED) {
        // This client has gone; the next one may be there.
        continue
      } catch {
        // No descriptors or memory: the client stays in the queue and would wake us again at once.
        source.suspend()
        queue.asyncAfter(deadline: .now() + .seconds(1)) { self.source.resume() }
        return
      }
    }
  }

  /// Accepts one client; returns false when none is waiting.
  private func acceptNext() throws(SystemError) -> Bool {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let number: Int32
    do {
      number = try withUnsafeMutablePointer(to: &address) { storage throws(SystemError) in
        try storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(SystemError) in
          try systemCall("accept") { accept(listener.number, address, &length) }
        }
      }
    } catch let error where error.code == .wouldBlock {
      return false
    }
    let client = FileDescriptor(owning: number)
    // Glibc's module lacks accept4. A child started in between doesn't get it: ours close what they aren't given.
    try systemCall("fcntl") { fcntl(number, F_SETFD, FD_CLOEXEC) }
    try client.setNonBlocking(true)
    let other =
      isUnix ? HTTPClient(try PeerCredentials(of: client)) : HTTPClient(address: ClientAddress(address))
    let socket = ConnectionSocket(try client.duplicate())
    let standing = core.standing(of: other.credentials)
    guard let id = core.add(socket, descriptor: number, client: other, standing) else {
      refuse(client, with: .tooBusy, "503 Service Unavailable")
      core.linger(socket)
      return true
    }
    if isUnix, core.limits.passedFiles > 0, standing != .stranger {
      listen(to: SilentClient(client, other.account, address: address, length: length), id)
    } else {
      add(client, id, address: address, length: length)
    }
    return true
  }

  /// Hands a client to the library, at once if it has said something already.
  private func listen(to client: SilentClient, _ id: UInt64) {
    silent.withLock { $0[id] = client }
    // Without a watch it is served, but no files are taken from it.
    let isWatched =
      !client.hasSpoken
      && client.watch { [weak self] in
        guard let self else { return }
        queue.async { self.handOver(id) }
      }
    if !isWatched { handOver(id) }
  }

  private func handOver(_ id: UInt64) {
    guard let client = silent.withLock({ $0.removeValue(forKey: id) }), let descriptor = client.take() else { return }
    do {
      try core.passedFiles.receive(from: descriptor, of: id, client.account, core.limits)
    } catch {
      refuse(descriptor, with: PassedFiles.Misplaced.response, "400 Bad Request")
      // It may have sent more, and go on.
      core.expectUnreadBody(on: id)
      return core.remove(id)
    }
    add(descriptor, id, address: client.address, length: client.length)
  }

  private func add(_ client: consuming FileDescriptor, _ id: UInt64, address: sockaddr_storage, length: socklen_t) {
    let isAdded = library.add(client, address: address, length: length)
    if !isAdded { core.remove(id) }
  }

  /// Sends the reason, as far as the socket's buffer has room.
  private func refuse(_ client: borrowing FileDescriptor, with response: HTTPResponse, _ status: String) {
    let body = response.body
    let text =
      "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
      + HTTPResponse.guardHeaders.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
      + "Connection: close\r\nContent-Length: \(body.count)\r\n\r\n" + String(decoding: body, as: UTF8.self)
    var bytes = Array(text.utf8)
    // Nothing depends on it: a client that has gone needs no reason.
    _ = send(client.number, &bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
  }
}

/// An accepted client that has sent nothing yet.
private final class SilentClient: Sendable {
  let account: HTTPClient.Account
  let address: sockaddr_storage
  let length: socklen_t
  private let number: Int32
  private let descriptor: Mutex<FileDescriptor?>
  private let wait = Mutex<ReadinessThread.Wait?>(nil)

  init(
    _ descriptor: consuming FileDescriptor, _ account: HTTPClient.Account, address: sockaddr_storage, length: socklen_t
  ) {
    number = descriptor.number
    self.descriptor = Mutex(descriptor)
    (self.account, self.address, self.length) = (account, address, length)
  }

  /// True if there is something to read, or the client has left.
  var hasSpoken: Bool {
    var byte: UInt8 = 0
    return recv(number, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
  }

  /// Calls back when there is; false if that can't be watched.
  func watch(_ call: @escaping @Sendable () -> Void) -> Bool {
    guard let begun = try? ReadinessThread.shared.whenReadable(number, call) else { return false }
    wait.withLock { $0 = begun }
    return true
  }

  /// Ends the watch and hands the descriptor out, once.
  func take() -> FileDescriptor? {
    if let begun = wait.withLock({ $0.take() }) { _ = ReadinessThread.shared.cancel(begun) }
    return descriptor.withLock { $0.take() }
  }
}
