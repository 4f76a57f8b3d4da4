package import ImageProtocol
import SystemSupport

/// Knows pictures that were made before.
package protocol ImageReuse: Sendable {
  /// Looks for the outputs of a request, once its input is known; waits for a job that is making the same.
  func pictures(of input: ImageReply.Input) async -> KnownPictures

  /// The descriptor of an empty file that only this process and the helper have, for a copy of the input.
  ///
  /// Pictures that others get by the input's hash must be made of the very bytes that were hashed.
  var inputCopy: Int32 { get }
}

/// The outputs of a request that were made before.
package struct KnownPictures: Sendable {
  /// One for each output; nil where it is to be made.
  private let outputs: [KnownPicture?]
  private let placeholder: KnownPicture?

  package init(outputs: [KnownPicture?] = [], placeholder: KnownPicture? = nil) {
    self.outputs = outputs
    self.placeholder = placeholder
  }

  private var places: [Int] { outputs.indices.filter { outputs[$0] != nil } }

  /// The files that go with the permission.
  var files: [Int32] { outputs.compactMap { $0?.file } }

  func permission(_ number: UInt64) -> ImageMessage.Permission {
    ImageMessage.Permission(number: number, known: places, knowsPlaceholder: placeholder != nil)
  }

  /// True if nothing is left to be made.
  func isAll(of request: ImageRequest) -> Bool {
    places.count == request.outputs.count && (placeholder != nil || !request.wantsPlaceholder)
  }

  /// Returns a reply completed with the outputs that were made before.
  func completing(_ reply: ImageReply, of request: ImageRequest) -> ImageReply {
    var reply = reply
    var made = reply.outputs[...]
    reply.outputs = request.outputs.indices.compactMap { index in
      outputs.indices.contains(index) ? outputs[index]?.output ?? made.popFirst() : made.popFirst()
    }
    reply.placeholder = placeholder?.placeholder ?? reply.placeholder
    reply.reused = places
    reply.isReused = isAll(of: request)
    return reply
  }
}

/// An output or a placeholder that was made before, with an output's file, open for reading.
package final class KnownPicture: Sendable {
  package let output: ImageReply.Output?
  package let placeholder: ImageReply.Placeholder?
  let file: Int32?

  /// - Parameter file: a descriptor, which is closed with this.
  package init(output: ImageReply.Output?, placeholder: ImageReply.Placeholder?, file: Int32?) {
    self.output = output
    self.placeholder = placeholder
    self.file = file
  }

  deinit {
    if let file { _ = FileDescriptor(owning: file) }
  }
}
