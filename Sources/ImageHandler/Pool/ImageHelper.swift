import Dispatch
import Foundation
import Glibc
import ImageProtocol
import Synchronization
import SystemSupport

/// One `bobbin-image` process and the daemon's end of its socket.
final class ImageHelper: Sendable {
  let child: ChildProcess
  private let socket: DescriptorSocket
  /// The helper's standard error; never read while it works, so its buffer is the bound.
  private let log: FileDescriptor

  var socketNumber: Int32 { socket.descriptor.number }

  private init(child: ChildProcess, socket: consuming DescriptorSocket, log: consuming FileDescriptor) {
    self.child = child
    self.socket = socket
    self.log = log
  }

  /// Starts a helper that inherits its socket and the writing end of its log, and nothing else.
  ///
  /// Blocks for about a millisecond.
  static func start(_ configuration: ImageHelperConfiguration) throws(SystemError) -> ImageHelper {
    let sockets = try FileDescriptor.socketPair(.sequencedPackets)
    let pipe = try FileDescriptor.pipe()
    // A helper with much to say must never wait for a reader.
    try pipe.first.setNonBlocking(true)
    try pipe.second.setNonBlocking(true)
    let launch = ChildLaunch(
      executable: configuration.helperPath, arguments: configuration.arguments.commandLine, environment: environment,
      descriptors: [2: pipe.second.number, ImageHelperArguments.socketDescriptor: sockets.second.number])
    let child: ChildProcess
    do { child = try ChildProcess.start(launch) } catch { throw launch.explaining(error) }
    // The helper has its own copies of the other ends; ours go here, so that its end can be seen.
    let socket = sockets.split { (ours, _) in ours.relinquish() }
    let log = pipe.split { (ours, _) in ours.relinquish() }
    return ImageHelper(
      child: child, socket: DescriptorSocket(FileDescriptor(owning: socket)), log: FileDescriptor(owning: log))
  }

  private static let environment = [
    // Messages are recognized by their words.
    "LC_ALL": "C",
    // Threads of short life would otherwise leave an arena of memory each.
    "MALLOC_ARENA_MAX": "2",
    // The Swift runtime would otherwise keep a crashed process for its backtrace; a crash has to be an end at once.
    "SWIFT_BACKTRACE": "enable=no",
    // No machine code made at run time: helpers take from themselves the right to execute what they have written.
    "ORC_CODE": "emulate",
    "VIPS_NOVECTOR": "1",
    // Pictures that must be decoded as a whole stay in memory, which is counted, and never go to a file.
    "VIPS_DISC_THRESHOLD": "100g",
    // Warnings about a picture's small faults come once for each line of pixels.
    "VIPS_WARNING": "0",
  ]

  /// Sends a request; doesn't wait, since the helper has no other.
  func send(_ bytes: [UInt8], descriptors: [Int32]) throws(SystemError) {
    discardLog()
    try socket.send(Data(bytes), descriptors: descriptors, by: .after(.seconds(1)))
  }

  /// Receives the answer that an ``AnswerWait`` found; nil if the helper has ended.
  func receive() throws(SystemError) -> [UInt8]? {
    do {
      let message = try socket.receive(limit: ImageMessage.maximumBytes, by: .after(.seconds(1)))
      guard let message else { return nil }
      return [UInt8](message.data)
    } catch  where error.code == .connectionReset {
      return nil
    }
  }

  /// The memory that the process has now, in bytes, and its address space; 0 if it has ended.
  func memory() -> (resident: Int, addressSpace: Int) {
    guard let text = try? String(contentsOfFile: "/proc/\(child.processID)/statm", encoding: .utf8) else {
      return (0, 0)
    }
    let pages = text.split(separator: " ").prefix(2).map { Int($0) ?? 0 }
    guard pages.count == 2 else { return (0, 0) }
    return (pages[1] * Int(getpagesize()), pages[0] * Int(getpagesize()))
  }

  /// Closes the helper's socket, so that it exits when it next reads from it; kills it if that takes too long.
  func retire() {
    // A socket that is already gone leaves nothing to close.
    try? socket.descriptor.shutdown()
    let child = child
    Task(executorPreference: WorkQueues.tasks) { _ = try await child.termination(killingAt: .after(.seconds(5))) }
  }

  /// Ends the helper at once; it is reaped without anybody waiting.
  func kill() {
    // Fails only for a process that has ended.
    try? child.killGroup(SIGKILL)
  }

  /// Returns how a helper ended whose socket is closed; kills it if it has not ended.
  func termination() async -> Termination? {
    let child = child
    // The caller may be cancelled; what happened to the helper is still to be told.
    return await Task(executorPreference: WorkQueues.tasks) { try? await child.stop(grace: .zero) }.value
  }

  /// The last line the helper said, printable and short, or nil.
  func lastWords() -> String? {
    let lines = String(decoding: readLog(), as: UTF8.self).split(whereSeparator: \.isNewline)
    return lines.last.map { displayName(String($0.prefix(300))) }
  }

  private func discardLog() {
    _ = readLog()
  }

  /// Drains the log's buffer, at most 64 kB.
  private func readLog() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
      count = max(0, read(log.number, buffer.baseAddress, buffer.count))
    }
  }
}

/// A helper, how many jobs it has had, and what it was when it was new.
struct LeasedHelper {
  let helper: ImageHelper
  var jobs: Int
  /// Its address space, in bytes, when it first answered.
  private var firstAddressSpace: Int?

  init(helper: ImageHelper, jobs: Int) {
    self.helper = helper
    self.jobs = jobs
  }

  /// To be called when it has answered.
  mutating func noteAddressSpace() {
    if firstAddressSpace == nil { firstAddressSpace = helper.memory().addressSpace }
  }

  /// True if it has so much memory, or address space that it won't give back, that a new one is better.
  func hasGrown(beyond most: Int) -> Bool {
    let (resident, addressSpace) = helper.memory()
    return resident > most
      || addressSpace > (firstAddressSpace ?? addressSpace) + ImageHelperConfiguration.addressSpaceGain
  }
}

/// One wait for a helper's answer, ended by the first of: the answer, the helper's end, the deadline, a cancellation.
final class AnswerWait: Sendable {
  enum Outcome: Sendable {
    /// The socket has a message, or its other end is closed.
    case readable
    case timedOut
    case cancelled
  }

  private struct Waiting: Sendable {
    let continuation: CheckedContinuation<Outcome, Never>
    let reading: ReadinessThread.Wait?
    let timer: OneShotTimer

    func end(_ outcome: Outcome) {
      if let reading { _ = ReadinessThread.shared.cancel(reading) }
      timer.cancel()
      continuation.resume(returning: outcome)
    }
  }

  private enum State {
    case open
    case waiting(Waiting)
    case ended(Outcome)
  }

  private static let queue = DispatchQueue(label: "bobbin.image-answers")
  private let state = Mutex(State.open)

  /// Waits; used once.
  func outcome(of helper: ImageHelper, by deadline: Deadline) async -> Outcome {
    await withTaskCancellationHandler {
      await withCheckedContinuation { start($0, helper: helper, deadline: deadline) }
    } onCancel: {
      end(.cancelled)
    }
  }

  private func start(_ continuation: CheckedContinuation<Outcome, Never>, helper: ImageHelper, deadline: Deadline) {
    var reading: ReadinessThread.Wait?
    do throws(SystemError) {
      // Keeps the socket open as long as its number is waited for.
      reading = try ReadinessThread.shared.whenReadable(helper.socketNumber) {
        withExtendedLifetime(helper) { self.end(.readable) }
      }
    } catch {
      // What can't be waited for is as good as a helper that does not answer.
      end(.timedOut)
    }
    let timer = OneShotTimer(queue: Self.queue)
    timer.arm(by: deadline) { self.end(.timedOut) }
    let waiting = Waiting(continuation: continuation, reading: reading, timer: timer)
    let early = state.withLock { state -> Outcome? in
      if case .ended(let outcome) = state { return outcome }
      state = .waiting(waiting)
      return nil
    }
    if let early { waiting.end(early) }
  }

  private func end(_ outcome: Outcome) {
    let waiting = state.withLock { state -> Waiting? in
      switch state {
      case .open:
        state = .ended(outcome)
        return nil
      case .waiting(let waiting):
        state = .ended(outcome)
        return waiting
      case .ended:
        return nil
      }
    }
    waiting?.end(outcome)
  }
}
