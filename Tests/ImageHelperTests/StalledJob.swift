import Foundation
import ImageHandler
import ImageProtocol
import SystemSupport
import TestSupport

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
  func hasBegun() async throws { try await pipe.first.becomesReadable(withinSeconds: 20) }
}
