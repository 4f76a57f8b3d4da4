import CLinux
import Glibc

extension DirectoryEvent {
  /// Reads the records that inotify(7) packs into one buffer; a record that doesn't fit ends in a rescan.
  package static func parse(_ buffer: UnsafeRawBufferPointer) -> [DirectoryEvent] {
    var events: [DirectoryEvent] = []
    let headerSize = MemoryLayout<inotify_event>.size
    var rest = buffer[...]
    while !rest.isEmpty {
      guard rest.count >= headerSize else { return events + [.rescan(.failed(errno: EBADMSG))] }
      let header = UnsafeRawBufferPointer(rebasing: rest.prefix(headerSize))
      let mask = header.loadUnaligned(fromByteOffset: 4, as: UInt32.self)
      let nameSize = Int(header.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
      rest = rest.dropFirst(headerSize)
      guard nameSize <= rest.count else { return events + [.rescan(.failed(errno: EBADMSG))] }
      // The name is padded with zero bytes.
      if let event = event(mask: mask, name: FileName(bytes: rest.prefix(nameSize))) { events.append(event) }
      rest = rest.dropFirst(nameSize)
    }
    return events
  }

  private static func event(mask: UInt32, name: FileName) -> DirectoryEvent? {
    if mask & UInt32(IN_Q_OVERFLOW) != 0 { return .rescan(.overflow) }
    if mask & UInt32(IN_UNMOUNT) != 0 { return .rescan(.unmounted) }
    if mask & UInt32(IN_IGNORED) != 0 { return .rescan(.watchRemoved) }
    if mask & UInt32(IN_MOVE_SELF) != 0 { return .rescan(.directoryMoved) }
    if name.bytes.isEmpty { return nil }
    return mask & UInt32(IN_CREATE) != 0 ? .created(name) : .entry(name)
  }
}
