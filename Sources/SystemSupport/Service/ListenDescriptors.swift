import Glibc

/// Sockets that systemd opened for us, by the names of their `FileDescriptorName=`; the rest are closed with it.
package struct ListenDescriptors: ~Copyable, Sendable {
  private var entries: [(name: String, number: Int32)]

  init(owning entries: [(name: String, number: Int32)]) {
    self.entries = entries
  }

  deinit {
    for entry in entries { _ = close(entry.number) }
  }

  /// The names of those that are left, in the manager's order.
  package var names: [String] { entries.map(\.name) }

  /// The first one of this name, or nil.
  package mutating func take(named name: String) -> FileDescriptor? {
    guard let index = entries.firstIndex(where: { $0.name == name }) else { return nil }
    return FileDescriptor(owning: entries.remove(at: index).number)
  }
}
