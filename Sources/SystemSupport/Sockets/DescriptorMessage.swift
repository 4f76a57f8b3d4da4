package import struct Foundation.Data

/// A message that came through a ``DescriptorSocket``.
package struct DescriptorMessage: ~Copyable, Sendable {
  package let data: Data
  /// In the order they were sent.
  package var descriptors: ReceivedDescriptors
}
