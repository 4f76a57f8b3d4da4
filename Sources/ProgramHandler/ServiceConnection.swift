import Foundation
import Jobs
import Synchronization
import SystemSupport

/// The program of an attempt as a service that answers at a Unix socket: a connection for each attempt.
///
/// The job goes there, and then the end of the input; what comes back is what a program writes to standard output. The
/// connection's end is the program's.
final class ServiceConnection: ProgramPeer {
  private static let pieceSize = 64 << 10

  private let path: String
  private let log: AttemptLog
  private let socket: ServiceSocket
  /// Writes the job.
  private let sending: Task<Sent, Never>
  private let state = Mutex(State())

  /// The part of the job that was written.
  private struct Sent {
    var isAll = false
    /// True if the service has begun to read: more was written than the kernel holds, or there was room again after
    /// there was none.
    var isBegun = false
  }

  private struct State {
    var isStopped = false
    /// True if the service closed the connection with something unread.
    var isReset = false
    var hasServer = false
  }

  /// Connects to the socket that the type names.
  ///
  /// - Throws: ``HostFault`` if nobody answers there, or somebody whom the daemon must not trust could.
  init(_ path: String, _ document: JobDocument, log: AttemptLog) throws(HostFault) {
    self.path = path
    self.log = log
    do {
      let file = try ServiceSocketFile(path).open()
      socket = try ServiceSocket(connectingTo: file)
      let writer = try socket.duplicate()
      let (bytes, limit) = (document.bytes, try writer.unreadLimit())
      sending = Task(executorPreference: WorkQueues.tasks) { await Self.send(bytes, to: writer, unreadLimit: limit) }
    } catch {
      throw HostFault(
        "the service at \(displayName(path)) can't be reached: \(Self.reason(of: error, at: path))", awaits: path)
    }
  }

  /// The reason why nobody answers, and what to do.
  private static func reason(of error: any Error, at path: String) -> String {
    let question = "; is its socket unit started?"
    switch (error as? SystemError)?.code {
    case .connectionRefused: return "nobody listens there" + question
    case .wouldBlock: return "as many clients as may wait there do so already (Backlog= of its socket unit)"
    case .accessDenied: return "the daemon may not connect there (SocketUser= of its socket unit)"
    default: return "\(error)" + (FileManager.default.fileExists(atPath: path) ? "" : question)
    }
  }

  private static func send(_ bytes: [UInt8], to socket: ServiceSocket, unreadLimit: Int) async -> Sent {
    var rest = bytes[...]
    var (sent, wasFull) = (Sent(), false)
    while !rest.isEmpty {
      do {
        rest = rest.dropFirst(
          try rest.withUnsafeBytes { buffer in Result { () throws(SystemError) in try socket.send(buffer) } }.get())
        sent.isBegun = wasFull || bytes.count - rest.count > unreadLimit
      } catch  where error.code == .wouldBlock {
        // A wait that can't begin is the end, too: the service never gets the whole job.
        wasFull = true
        do { try await socket.writable() } catch { return sent }
      } catch {
        return sent
      }
    }
    // Fails only if the service has closed the connection already, which the reader learns.
    try? socket.endSending()
    sent.isAll = true
    return sent
  }

  func next() async -> [UInt8]? {
    while true {
      var bytes = [UInt8](repeating: 0, count: Self.pieceSize)
      do {
        let (count, sender) = try bytes.withUnsafeMutableBytes { buffer in
          Result { () throws(SystemError) in try socket.receive(into: buffer) }
        }.get()
        if let sender { noteServer(sender) }
        if count == 0 { return nil }
        bytes.removeLast(bytes.count - count)
        return bytes
      } catch  where error.code == .wouldBlock {
        do { try await socket.readable() } catch {
          log.append(Array("the connection can't be watched: \(error)\n".utf8))
          return nil
        }
      } catch {
        state.withLock { $0.isReset = true }
        return nil
      }
    }
  }

  /// Notes in the log who it is that speaks, when the first words come.
  private func noteServer(_ sender: PeerCredentials) {
    let isFirst = state.withLock { state in
      defer { state.hasServer = true }
      return !state.hasServer
    }
    guard isFirst else { return }
    let unit = ServiceManager.unit(of: sender.processID).map { " of the unit \(displayName($0))" } ?? ""
    let user = (try? UserIdentity(lookingUp: sender.user)) ?? UserIdentity(user: sender.user)
    log.append(Array("served by process \(sender.processID)\(unit), as \(user)\n".utf8))
  }

  func stop() {
    state.withLock { $0.isStopped = true }
    // Fails only if the service has closed it already.
    try? socket.shutdown()
  }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  func end() async -> any ProgramEnd {
    // A service that says no more need not get the rest of the job.
    try? socket.shutdown()
    let sent = await sending.value
    return ConnectionEnd(path: path, hasSeenJob: sent.isBegun || sent.isAll && !state.withLock { $0.isReset })
  }
}

/// The end of a connection to a service.
struct ConnectionEnd: ProgramEnd {
  let path: String
  /// True if the service has read the whole job, or some of one that the kernel does not hold at once.
  let hasSeenJob: Bool

  func failure(_ report: ProgramReport, lastLines: [String]) -> (any Error)? {
    if let told = report.failure { return told }
    if report.isConcluded { return nil }
    // Nobody has seen the job: a program that can't be executed, more connections than the unit allows.
    if !hasSeenJob && !report.hasBegun {
      return HostFault(
        "\(service) closed the connection before it had read the job; the journal of its unit says why (a program that "
          + "can't be started, MaxConnections=)", awaits: path)
    }
    return JobFailure("\(service) closed the connection without a result\(evidence(lastLines))", isPermanent: false)
  }

  func failure(_ mistake: OutputError, lastLines: [String]) -> JobFailure {
    JobFailure("\(service): \(mistake)\(evidence(lastLines))")
  }

  private var service: String { "the service at \(displayName(path))" }

  private func evidence(_ lastLines: [String]) -> String {
    lastLines.isEmpty ? "" : "; its log ends: " + lastLines.map { singleLine($0) }.joined(separator: " / ")
  }
}

/// The socket file of a service, which nobody but the daemon's user and root may have put where it is.
struct ServiceSocketFile: Sendable {
  private let path: String
  private let owners: Set<UInt32>

  /// - Parameter owner: a further user who may own it: the daemon's, if that is not this process's.
  init(_ path: String, owner: UInt32? = nil) {
    self.path = path
    owners = Set([0, Credentials.effectiveUser] + (owner.map { [$0] } ?? []))
  }

  /// Opens it as a path only.
  func open() throws(PathProblem) -> FileDescriptor {
    try UserIdentity(user: Credentials.effectiveUser).openSocket(path, ownedBy: owners)
  }

  /// The reason why jobs would wait for it now; nil if it is there.
  var problem: String? {
    do throws(PathProblem) {
      _ = try open()
      return nil
    } catch {
      return "\(error)"
    }
  }
}
