import Glibc
import Synchronization
package import SystemSupport

/// Reads a program's output from a pipe while the program runs.
package final class LogReader: Sendable {
  private let content = Content()
  private let source: ReadableDescriptor

  package var text: String { String(decoding: content.bytes, as: UTF8.self) }
  package var lines: [String] { text.split(separator: "\n").map(String.init) }
  /// True if nothing more will come.
  package var isAtEnd: Bool { content.isAtEnd }

  /// Takes over the reading end of a pipe.
  ///
  /// - Parameter handler: called when something was read, and at the end.
  package init(_ reader: consuming FileDescriptor, handler: @escaping @Sendable () -> Void) {
    let content = content
    source = ReadableDescriptor(reader.relinquish()) { number in
      var buffer = [UInt8](repeating: 0, count: 64 * 1024)
      let count = read(number, &buffer, buffer.count)
      if count < 0 && errno == EINTR { return true }
      content.add(count <= 0 ? nil : buffer.prefix(count))
      handler()
      return count > 0
    }
  }

  deinit { source.cancel() }
}

/// What was read so far.
private final class Content: Sendable {
  private let content = Mutex<(bytes: [UInt8], isAtEnd: Bool)>(([], false))

  var bytes: [UInt8] { content.withLock { $0.bytes } }
  var isAtEnd: Bool { content.withLock { $0.isAtEnd } }

  /// Adds what was read; nil for the end.
  func add(_ bytes: ArraySlice<UInt8>?) {
    content.withLock { content in
      if let bytes { content.bytes += bytes } else { content.isAtEnd = true }
    }
  }
}
