extension JSONParser {
  /// Refuses text that isn't UTF-8, with the place of the first wrong byte.
  func checkEncoding() throws(JSONError) {
    guard let base = bytes.baseAddress else { return }
    var offset = 0
    var seen: UInt64 = 0
    while offset &+ 8 <= bytes.count {
      seen |= base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset &+= 8
    }
    while offset < bytes.count {
      seen |= UInt64(bytes[offset])
      offset &+= 1
    }
    guard seen & 0x8080_8080_8080_8080 != 0 else { return }
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: Span(_unsafeElements: bytes.bindMemory(to: UInt8.self)))
    } catch {
      let place = error.byteOffsets.lowerBound
      let code = String(bytes[place], radix: 16, uppercase: true)
      throw failure(.notUTF8, at: place, "the byte 0x\(code) is no UTF-8; save the text as UTF-8")
    }
  }

  /// The text of a range, which is known to be UTF-8.
  @inline(__always)
  func text(_ range: Range<Int>) -> String {
    String(decoding: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
  }

  /// The scalar that begins at an offset before the end.
  func scalar(at offset: Int) -> Unicode.Scalar {
    var decoder = UTF8()
    var rest = bytes[offset..<min(offset + 4, bytes.count)].makeIterator()
    if case .scalarValue(let scalar) = decoder.decode(&rest) { return scalar }
    return "\u{FFFD}"
  }
}
