/// What an input is packed with.
package enum Compression: String, Sendable, Hashable, CaseIterable {
  case none, gzip, zstd

  /// Tells by the first bytes of a file; RFC 1952 and RFC 8878 with its skippable frames. Of a file that is cut
  /// off, two or three of them are enough.
  init(magicOf bytes: UnsafeRawBufferPointer) {
    let first = bytes.prefix(4).reduce(into: [UInt8]()) { $0.append($1) }
    if first.starts(with: [0x1F, 0x8B, 0x08]) || first == [0x1F, 0x8B] {
      self = .gzip
    } else if first == [0x28, 0xB5, 0x2F, 0xFD]
      || first == [0x28, 0xB5, 0x2F]
      || (first.count == 4 && first[0] & 0xF0 == 0x50 && first[1...] == [0x2A, 0x4D, 0x18])
    {
      self = .zstd
    } else {
      self = .none
    }
  }
}
