import Dispatch
import Glibc
import Synchronization
package import SystemSupport

/// Reads a program's output from a pipe while the program runs.
package final class LogReader: Sendable {
  private let content = Mutex<[UInt8]>([])
  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead

  package var text: String { content.withLock { String(decoding: $0, as: UTF8.self) } }
  package var lines: [String] { text.split(separator: "\n").map(String.init) }

  /// Takes over the reading end of a pipe.
  package init(_ reader: consuming FileDescriptor, handler: @escaping @Sendable () -> Void) {
    let number = reader.take()
    source = DispatchSource.makeReadSource(fileDescriptor: number, queue: DispatchQueue(label: "log"))
    source.setEventHandler { [weak self, source] in
      var buffer = [UInt8](repeating: 0, count: 64 * 1024)
      let count = read(number, &buffer, buffer.count)
      if count <= 0 { return source.cancel() }
      self?.content.withLock { $0 += buffer.prefix(count) }
      handler()
    }
    source.setCancelHandler { close(number) }
    source.activate()
  }

  deinit { source.cancel() }
}
