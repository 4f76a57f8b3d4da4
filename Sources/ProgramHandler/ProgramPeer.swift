import Jobs
import JSONText

/// The other side of an attempt, which does the work and speaks the protocol: a process, or a service at a socket.
protocol ProgramPeer: Sendable {
  /// The next bytes of what it says; nil at the end. One task reads.
  func next() async -> [UInt8]?

  /// Tells it to end; may be called again, and from any thread.
  func stop()

  /// True once it was told to end: what it says from then on is only logged.
  var isStopped: Bool { get }

  /// Waits for its end, once all was read.
  func end() async throws -> any ProgramEnd
}

/// The end of a program, and what it means for its job.
protocol ProgramEnd: Sendable {
  /// Returns the error of the attempt, as the program itself or its end tells it; nil if it succeeded.
  ///
  /// - Parameters:
  ///   - report: what it has said.
  ///   - lastLines: the last lines of its log.
  func failure(_ report: ProgramReport, lastLines: [String]) -> (any Error)?

  /// Returns the failure of a program whose messages can't be understood.
  func failure(_ mistake: OutputError, lastLines: [String]) -> JobFailure
}

/// The statements of a program about its job.
struct ProgramReport: Sendable {
  /// The last result; nil without one.
  private(set) var result: JSONValue?
  /// The failure that it told; nil if it told none.
  private(set) var failure: JobFailure?
  /// True once there was a message.
  private(set) var hasBegun = false
  /// True if the last of its messages, but for the log's, was the result.
  private(set) var isConcluded = false

  mutating func note(_ message: OutputMessage) {
    hasBegun = true
    switch message {
    case .log: break
    case .result(let value):
      result = value
      isConcluded = true
    case .failure(let told):
      failure = told
      isConcluded = false
    case .progress, .insert, .checkpoint: isConcluded = false
    }
  }
}
