import Foundation
import Glibc
import ImageHandler
import ImageProtocol
import SystemSupport

/// A job that stays in the middle of its output: a pipe that nobody empties.
struct StalledJob: ~Copyable {
  private let pipe: DescriptorPair
  private let input: FileDescriptor

  init() throws {
    // Both first: a value that can not be copied is made whole or not at all.
    let pipe = try FileDescriptor.pipe()
    let input = try FileDescriptor.open(Workbench.photograph("Wood"))
    self.pipe = pipe
    self.input = input
  }

  /// Starts the job at once, ahead of whatever is asked of the pool next.
  func start(on pool: ImageHelperPool, deadline: Deadline = .never) -> Task<ImageReply, any Error> {
    let (input, output) = (input.number, pipe.second.number)
    return Task.immediate {
      try await pool.encode(
        ImageRequest(outputs: [ImageOutput(format: .png)]), input: input, outputs: [output], deadline: deadline)
    }
  }

  /// Waits until the helper writes.
  func hasBegun() async throws {
    let number = pipe.first.number
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      DispatchQueue.global().async {
        var request = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        let count = poll(&request, 1, 20_000)
        if count == 1 {
          continuation.resume()
        } else {
          continuation.resume(throwing: SystemError(.timedOut, call: "poll", subject: "the stalled job's output"))
        }
      }
    }
  }
}
