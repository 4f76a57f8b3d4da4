internal import SystemSupport

/// Knows pictures that were made before.
package protocol ImageReuse: Sendable {
  /// Looks for the outputs of a request, once its input is known; waits for whoever is making the same.
  ///
  /// - Returns: nil if they are to be made.
  func pictures(of input: ImageReply.Input) async -> KnownPictures?

  /// The descriptor of an empty file that only this process and the helper have, for a copy of the input.
  ///
  /// What others get by the input's hash must be made of the very bytes that were hashed.
  var inputCopy: Int32 { get }
}

/// Outputs that were made before: their files, open for reading, and what was told of them.
package final class KnownPictures: Sendable {
  package let outputs: [ImageReply.Output]
  package let placeholder: ImageReply.Placeholder?
  let files: [Int32]

  /// - Parameter files: a descriptor for each output, which are closed with this.
  package init(outputs: [ImageReply.Output], placeholder: ImageReply.Placeholder?, files: [Int32]) {
    self.outputs = outputs
    self.placeholder = placeholder
    self.files = files
  }

  deinit {
    for file in files { _ = FileDescriptor(owning: file) }
  }
}
