internal import Foundation
internal import Glibc
internal import SystemSupport

/// One `bobbin-image` process and the daemon's end of its socket.
final class ImageHelper: Sendable {
  let child: ChildProcess
  private let socket: DescriptorSocket
  /// What the helper says on standard error; never read while it works, so its buffer is the bound.
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
    let child = try ChildProcess.start(launch)
    // The helper has its own copies of the other ends; ours go here, so that its end can be seen.
    let socket = sockets.split { (ours, _) in ours.take() }
    let log = pipe.split { (ours, _) in ours.take() }
    return ImageHelper(
      child: child, socket: DescriptorSocket(FileDescriptor(owning: socket)), log: FileDescriptor(owning: log))
  }

  private static let environment = [
    // Messages are told apart by their words.
    "LC_ALL": "C",
    // Threads of short life would otherwise leave an arena of memory each.
    "MALLOC_ARENA_MAX": "2",
    // The Swift runtime would otherwise keep a crashed process for its backtrace; a crash has to be an end at once.
    "SWIFT_BACKTRACE": "enable=no",
    // No machine code made at run time: helpers take from themselves the right to execute what they have written.
    "ORC_CODE": "emulate",
    "VIPS_NOVECTOR": "1",
    // What has to be decoded as a whole stays in memory, which is counted, and never goes to a file.
    "VIPS_DISC_THRESHOLD": "100g",
    // Warnings about a picture's small faults come once for each line of pixels.
    "VIPS_WARNING": "0",
  ]

  /// Sends a request; doesn't wait, since the helper has no other.
  func send(_ bytes: [UInt8], descriptors: [Int32]) throws(SystemError) {
    discardLog()
    try socket.send(Data(bytes), descriptors: descriptors, by: .after(.seconds(1)))
  }

  /// Takes the answer that an ``AnswerWait`` found, or nil if the helper has ended.
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

  /// Lets the helper end by itself, which it does when it next looks at its socket; kills it if that takes too long.
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

  /// How a helper ended whose socket is closed; makes sure that it has.
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

  /// Takes what is in the log's buffer, at most 64 kB.
  private func readLog() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
      count = max(0, read(log.number, buffer.baseAddress, buffer.count))
    }
  }
}
