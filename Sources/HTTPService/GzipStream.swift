internal import CZlib
package import Foundation

/// A packer of gzip, which takes a text at once or piece by piece, at its fastest level.
///
/// `@unchecked Sendable`: its pieces have an order, so that whoever has the text packs one after the other.
package final class GzipStream: @unchecked Sendable {
  /// The bytes that are taken from and given to the library at a time.
  private static let pieceSize = 64 << 10

  /// Allocated, since the library remembers its address.
  private let stream: UnsafeMutablePointer<z_stream>

  /// Returns nil without memory.
  package init?() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 16 more bits of the window ask for gzip's header.
    let code = deflateInit2_(
      stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    if code == Z_OK { return }
    stream.deallocate()
    return nil
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }

  /// Packs the next piece, so that all of it can be unpacked at once.
  ///
  /// - Parameter isLast: true for the last piece, behind which the stream ends.
  package func pack(_ piece: Data, isLast: Bool) -> Data {
    var packed = Data()
    piece.withUnsafeBytes { source in
      for start in stride(from: 0, to: max(1, source.count), by: Self.pieceSize) {
        let part = source[start..<min(start + Self.pieceSize, source.count)]
        let isEnd = part.endIndex == source.count
        add(
          UnsafeRawBufferPointer(rebasing: part),
          isEnd ? (isLast ? Z_FINISH : Z_SYNC_FLUSH) : Z_NO_FLUSH, to: &packed)
      }
    }
    return packed
  }

  private func add(_ bytes: UnsafeRawBufferPointer, _ flush: Int32, to packed: inout Data) {
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(bytes.count)
    withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 1) { target in
      repeat {
        stream.pointee.next_out = target.assumingMemoryBound(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(target.count)
        // It fails only for a stream that has ended.
        deflate(stream, flush)
        packed.append(contentsOf: target.prefix(target.count - Int(stream.pointee.avail_out)))
      } while stream.pointee.avail_out == 0
    }
  }
}

extension HTTPHeaders {
  /// True if the codings that a client takes, with their weights, have gzip (RFC 9110, section 12.5.3).
  package var takeGzip: Bool {
    var others = false
    for coding in values(of: "Accept-Encoding").joined(separator: ",").lowercased().split(separator: ",") {
      let parts = coding.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
      let isRefused = parts.dropFirst().contains { $0.wholeMatch(of: /q=0(\.0*)?/) != nil }
      if parts.first == "gzip" { return !isRefused }
      if parts.first == "*" { others = !isRefused }
    }
    return others
  }
}
