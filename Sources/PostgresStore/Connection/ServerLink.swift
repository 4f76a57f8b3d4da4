import CPostgres
import Glibc
import StoreInterface
import Synchronization

/// A session with a server: owns libpq's handle and waits for what it does, never longer than a limit.
///
/// Libpq works without blocking here, so that sending much while the server answers much can't lock both up. A link that
/// broke, or whose server did not answer in time, is closed at once and never used again.
final class ServerLink {
  let place: String
  /// Nil once the link is broken.
  private var open: OpaquePointer?
  private let limit: Duration
  private let notices: NoticeBox
  private let traffic: Traffic?
  /// The end of all waits until the next statement.
  private var deadline = ContinuousClock.now
  /// Asked while a statement runs; true lets the server cancel it.
  var isInterrupted: (() -> Bool)?
  private var isCancelling = false
  /// The time between two looks at ``isInterrupted``, in milliseconds.
  private static let interruptionInterval: Int32 = 20

  /// Connects to the first of the target's servers that answers as wanted.
  ///
  /// - Parameter traffic: counts what comes and goes; nil if nobody asks.
  init(
    _ target: ConnectionTarget, noticeLog: (@Sendable (String) -> Void)?, traffic: Traffic? = nil
  ) throws(StoreError) {
    place = target.place
    self.traffic = traffic
    limit = target.answerLimit
    notices = NoticeBox(log: noticeLog)
    deadline = .now + target.connectLimit
    let settings = target.settings.sorted { $0.key < $1.key }
    guard let handle = Self.start(settings.map(\.key), settings.map(\.value)) else {
      throw StoreError(.unavailable, "there is no memory for a connection", path: place)
    }
    open = handle
    PQsetNoticeReceiver(handle, receiveNotice, Unmanaged.passUnretained(notices).toOpaque())
    // The verbose form has the SQLSTATE of what went wrong.
    PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
    do throws(StoreError) { try connect(handle) } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  /// The role that the server knows the link by; empty once it is broken.
  var role: String { open.flatMap { PQuser($0) }.map { String(cString: $0) } ?? "" }

  /// True as long as the link can be used.
  var isOpen: Bool { open != nil }

  /// True if a transaction is open, or has failed and is to be undone.
  var isInTransaction: Bool {
    guard let open else { return false }
    return PQtransactionStatus(open) != PQTRANS_IDLE
  }

  /// The libpq handle, for calls that don't wait.
  ///
  /// - Throws: ``StoreError/Code/unavailable`` once the link is broken.
  func handle() throws(StoreError) -> OpaquePointer {
    guard let open else { throw ServerFailure.lost("the connection was closed before", place: place) }
    return open
  }

  /// True while a statement may take a day.
  var isPatient = false

  /// Gives what follows the whole limit.
  func restartClock() { deadline = .now + (isPatient ? .seconds(86_400) : limit) }

  /// The descriptor of the socket; nil once the link is broken.
  var socket: Int32? { open.map(PQsocket) }

  /// The channels of the notifications that have arrived, without waiting for more.
  func arrivedNotifications() throws(StoreError) -> [String] {
    let handle = try handle()
    guard PQconsumeInput(handle) == 1 else { throw fail() }
    var texts: [String] = []
    while let notification = PQnotifies(handle) {
      texts.append(String(cString: notification.pointee.extra))
      PQfreemem(notification)
    }
    return texts
  }

  /// Closes the link; the server undoes what is open.
  func close() {
    guard let handle = open else { return }
    open = nil
    PQfinish(handle)
  }

  /// Closes the link after a failure of libpq's, and returns the error.
  func fail(_ reason: String? = nil) -> StoreError {
    let text = reason ?? open.map { String(cString: PQerrorMessage($0)) } ?? ""
    close()
    return ServerFailure.lost(text, place: place)
  }

  private static func start(_ keywords: [String], _ values: [String]) -> OpaquePointer? {
    let keywords = keywords.map { strdup($0) }
    let values = values.map { strdup($0) }
    defer { for text in keywords + values { free(text) } }
    let ended = (keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
    return PQconnectStartParams(ended.0, ended.1, 0)
  }

  private func connect(_ handle: OpaquePointer) throws(StoreError) {
    // Libpq wants to be asked as if it had said that it wants to write.
    var state = PGRES_POLLING_WRITING
    while state != PGRES_POLLING_OK {
      if state == PGRES_POLLING_FAILED {
        throw ServerFailure.connecting(String(cString: PQerrorMessage(handle)), place: place, role: role)
      }
      try awaitConnecting(handle, Int16(state == PGRES_POLLING_WRITING ? POLLOUT : POLLIN))
      state = PQconnectPoll(handle)
    }
    PQsetnonblocking(handle, 1)
  }

  private func awaitConnecting(_ handle: OpaquePointer, _ events: Int16) throws(StoreError) {
    if PQstatus(handle) == CONNECTION_BAD { return }
    guard try poll(handle, events) != 0 else {
      throw StoreError(
        .unavailable, "the database did not answer while connecting; is the server up, and reachable from here?",
        path: place)
    }
  }

  /// Waits until the socket can do what is wanted; returns what it can do, 0 if it is too late.
  private func poll(_ handle: OpaquePointer, _ events: Int16) throws(StoreError) -> Int16 {
    while true {
      var entry = pollfd(fd: PQsocket(handle), events: events, revents: 0)
      let left = deadline - .now
      if left <= .zero { return 0 }
      let (seconds, attoseconds) = left.components
      var wait = Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
      if isInterrupted != nil, !isCancelling { wait = min(wait, Self.interruptionInterval) }
      let count = Glibc.poll(&entry, 1, wait)
      if count > 0 { return entry.revents }
      if count < 0, errno != EINTR { throw fail("poll: \(String(cString: strerror(errno)))") }
      cancelIfInterrupted(handle)
    }
  }

  private func cancelIfInterrupted(_ handle: OpaquePointer) {
    guard !isCancelling, let isInterrupted, isInterrupted(), let cancel = PQgetCancel(handle) else { return }
    defer { PQfreeCancel(cancel) }
    isCancelling = true
    var message = [CChar](repeating: 0, count: 256)
    // If it can't be sent, the statement ends by itself.
    PQcancel(cancel, &message, Int32(message.count))
  }

  /// Sends what libpq holds back, and reads meanwhile what the server says.
  func flush() throws(StoreError) {
    let handle = try handle()
    while true {
      switch PQflush(handle) {
      case 0:
        traffic?.note()
        return
      case 1: try receive(handle, Int16(POLLIN | POLLOUT))
      default: throw fail()
      }
    }
  }

  /// The next result, nil after the last one of a statement; the caller owns it.
  func nextResult() throws(StoreError) -> OpaquePointer? {
    let handle = try handle()
    while PQisBusy(handle) == 1 {
      let unsent = PQflush(handle)
      if unsent < 0 { throw fail() }
      try receive(handle, Int16(unsent == 1 ? POLLIN | POLLOUT : POLLIN))
    }
    guard let result = PQgetResult(handle) else {
      if PQstatus(handle) == CONNECTION_BAD { throw fail() }
      isCancelling = false
      return nil
    }
    // Libpq makes up such a result when the connection ends.
    if PQstatus(handle) == CONNECTION_BAD {
      let reason = String(cString: PQresultErrorMessage(result))
      PQclear(result)
      throw fail(reason)
    }
    return result
  }

  /// Waits until the server passes on what other sessions tell, or a descriptor can be read.
  ///
  /// - Returns: true if another session has told something.
  func awaitNotices(orInputOf other: Int32, limit: Int32) throws(StoreError) -> Bool {
    let handle = try handle()
    if takeNotices(handle) { return true }
    var entries = [PQsocket(handle), other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard Glibc.poll(&entries, nfds_t(entries.count), limit) > 0, entries[0].revents != 0 else { return false }
    if PQconsumeInput(handle) == 0 { throw fail() }
    return takeNotices(handle)
  }

  /// Takes what has come, and answers whether any of it is another session's.
  private func takeNotices(_ handle: OpaquePointer) -> Bool {
    var isForeign = false
    while let notice = PQnotifies(handle) {
      if notice.pointee.be_pid != PQbackendPID(handle) { isForeign = true }
      PQfreemem(notice)
    }
    return isForeign
  }

  private func receive(_ handle: OpaquePointer, _ events: Int16) throws(StoreError) {
    let ready = try poll(handle, events)
    if ready == 0 { throw fail("the server did not answer within \(limit)") }
    traffic?.note()
    if ready & ~Int16(POLLOUT) != 0, PQconsumeInput(handle) == 0 { throw fail() }
  }
}

/// Counts how often servers have taken or sent something on some connections, as a sign that they are at work.
final class Traffic: Sendable {
  private let number = Atomic<UInt64>(0)

  var count: UInt64 { number.load(ordering: .relaxed) }

  func note() { number.add(1, ordering: .relaxed) }
}

/// A descriptor of our own for a socket that libpq closes when it wants to.
package final class DescriptorCopy: Sendable {
  package let number: Int32

  init?(of descriptor: Int32) {
    number = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    if number < 0 { return nil }
  }

  deinit { close(number) }
}

/// The receiver of a server's remarks; libpq holds its address.
private final class NoticeBox: Sendable {
  let log: (@Sendable (String) -> Void)?
  init(log: (@Sendable (String) -> Void)?) { self.log = log }
}

private func receiveNotice(_ box: UnsafeMutableRawPointer?, _ notice: OpaquePointer?) {
  guard let box, let notice, let text = postgres_error_text(notice) else { return }
  Unmanaged<NoticeBox>.fromOpaque(box).takeUnretainedValue().log?(String(cString: text))
}
