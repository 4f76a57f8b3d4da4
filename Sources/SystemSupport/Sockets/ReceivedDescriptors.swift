import Glibc

/// Descriptors that came with a message; the rest are closed with it.
package struct ReceivedDescriptors: ~Copyable, Sendable {
  private var numbers: ArraySlice<Int32>

  init(owning numbers: [Int32]) {
    self.numbers = numbers[...]
  }

  deinit {
    for number in numbers { _ = close(number) }
  }

  /// The number of descriptors that are left.
  package var count: Int { numbers.count }

  /// Returns the next one in the order they were sent, or nil when none is left.
  package mutating func takeNext() -> FileDescriptor? {
    guard let number = numbers.popFirst() else { return nil }
    return FileDescriptor(owning: number)
  }
}
