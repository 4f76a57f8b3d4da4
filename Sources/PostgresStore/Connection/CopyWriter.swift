import CPostgres
import StoreInterface

/// Writes rows in the binary format of COPY, in pieces: <https://www.postgresql.org/docs/15/sql-copy.html>.
struct CopyWriter {
  private let link: ServerLink
  private var piece: [UInt8] = []
  private(set) var rowCount = 0
  /// The size of the pieces that are handed to libpq, in bytes.
  private static let pieceSize = 64 * 1024

  fileprivate static let signature: [UInt8] = [
    0x50, 0x47, 0x43, 0x4f, 0x50, 0x59, 0x0a, 0xff, 0x0d, 0x0a, 0x00,
  ]

  init(_ link: ServerLink) {
    self.link = link
    piece.reserveCapacity(Self.pieceSize + 4096)
    piece += Self.signature
    // No flags, and no extension of the header.
    piece += [UInt8](repeating: 0, count: 8)
  }

  /// Begins a row of so many fields; they follow.
  @inline(__always)
  mutating func beginRow(_ fieldCount: Int) throws(StoreError) {
    if piece.count >= Self.pieceSize { try send() }
    rowCount += 1
    append(UInt16(fieldCount))
  }

  @inline(__always)
  mutating func integer(_ number: Int64) {
    append(UInt32(8))
    append(UInt64(bitPattern: number))
  }

  @inline(__always)
  mutating func real(_ number: Double) {
    append(UInt32(8))
    append(number.bitPattern)
  }

  /// A text in UTF-8, or binary data.
  @inline(__always)
  mutating func bytes(_ bytes: UnsafeRawBufferPointer) {
    append(UInt32(bytes.count))
    piece.append(contentsOf: bytes)
  }

  mutating func text(_ text: String) {
    append(UInt32(text.utf8.count))
    piece.append(contentsOf: text.utf8)
  }

  @inline(__always)
  mutating func null() { append(UInt32.max) }

  /// Ends the rows.
  mutating func finish() throws(StoreError) {
    append(UInt16.max)
    try send()
    let handle = try link.handle()
    while true {
      switch PQputCopyEnd(handle, nil) {
      case 1:
        try link.flush()
        return
      case 0: try link.flush()
      default: throw link.fail()
      }
    }
  }

  @inline(__always)
  private mutating func append(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { piece.append(contentsOf: $0) }
  }

  private mutating func send() throws(StoreError) {
    let handle = try link.handle()
    link.restartClock()
    while true {
      let sent = piece.withUnsafeBytes { bytes in
        PQputCopyData(handle, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count))
      }
      if sent < 0 { throw link.fail() }
      // Libpq buffers what the socket does not take; waiting for it here bounds the memory.
      try link.flush()
      if sent == 1 { break }
    }
    piece.removeAll(keepingCapacity: true)
  }
}
