import Glibc
import Synchronization
package import SystemSupport

/// Reads a program's output from a pipe while the program runs.
package final class LogReader: Sendable {
  private let content = Content()
  private let source: ReadableDescriptor

  package var text: String { String(decoding: content.bytes, as: UTF8.self) }
  package var lines: [String] { text.split(separator: "\n").map(String.init) }

  /// Takes over the reading end of a pipe.
  package init(_ reader: consuming FileDescriptor, handler: @escaping @Sendable () -> Void) {
    let content = content
    source = ReadableDescriptor(reader.relinquish()) { number in
      var buffer = [UInt8](repeating: 0, count: 64 * 1024)
      let count = read(number, &buffer, buffer.count)
      if count <= 0 { return false }
      content.add(buffer.prefix(count))
      handler()
      return true
    }
  }

  deinit { source.cancel() }
}

/// What was read so far.
private final class Content: Sendable {
  private let content = Mutex<[UInt8]>([])

  var bytes: [UInt8] { content.withLock { $0 } }

  func add(_ bytes: ArraySlice<UInt8>) { content.withLock { $0 += bytes } }
}
