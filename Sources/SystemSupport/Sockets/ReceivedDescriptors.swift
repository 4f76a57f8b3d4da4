import Glibc

/// Descriptors that came with a message; those nobody takes are closed.
package struct ReceivedDescriptors: ~Copyable, Sendable {
  private var numbers: ArraySlice<Int32>

  init(owning numbers: [Int32]) {
    self.numbers = numbers[...]
  }

  deinit {
    for number in numbers { _ = close(number) }
  }

  /// How many are left.
  package var count: Int { numbers.count }

  /// The next one in the order they were sent, or nil when all are taken.
  package mutating func takeNext() -> FileDescriptor? {
    guard let number = numbers.popFirst() else { return nil }
    return FileDescriptor(owning: number)
  }
}
