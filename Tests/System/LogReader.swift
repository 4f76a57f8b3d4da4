import Dispatch
import Glibc
import Synchronization
import SystemSupport

/// Reads a program's output from a pipe while the program runs.
final class LogReader: Sendable {
  private let content = Mutex<[UInt8]>([])
  // A dispatch source is thread-safe, its Swift type just doesn't say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead

  var text: String { content.withLock { String(decoding: $0, as: UTF8.self) } }
  var lines: [String] { text.split(separator: "\n").map(String.init) }

  /// Takes over the reading end of a pipe.
  init(_ reader: consuming FileDescriptor, handler: @escaping @Sendable () -> Void) {
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
