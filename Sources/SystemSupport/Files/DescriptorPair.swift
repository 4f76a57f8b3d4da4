/// Two descriptors made together: a pipe's reading and writing end, or the two ends of a socket pair.
package struct DescriptorPair: ~Copyable, Sendable {
  /// A pipe's reading end.
  package let first: FileDescriptor
  /// A pipe's writing end.
  package let second: FileDescriptor

  init(first: consuming FileDescriptor, second: consuming FileDescriptor) {
    self.first = first
    self.second = second
  }

  /// Hands both ends to `body`, which owns them from then on.
  package consuming func split<Result, Failure: Error>(
    _ body: (consuming FileDescriptor, consuming FileDescriptor) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(first, second)
  }
}
