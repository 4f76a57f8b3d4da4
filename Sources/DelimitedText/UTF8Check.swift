/// Whether bytes are well-formed UTF-8; 3 ns for a short record of ASCII characters.
///
/// Check ``DelimitedReader/rawRecord`` once instead of each field: separators and quotes are ASCII, so a field is valid
/// if its record is.
package func isValidUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
  guard let base = bytes.baseAddress else { return true }
  var index = 0
  while index &+ 8 <= bytes.count {
    guard base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else { break }
    index &+= 8
  }
  var rest: UInt8 = 0
  if index &+ 8 > bytes.count {
    while index < bytes.count {
      rest |= bytes[index]
      index &+= 1
    }
    if rest < 0x80 { return true }
  }
  // The standard library's validator begins a new character at any ASCII byte, but the fast loop only stops at whole
  // words: give it all.
  return (try? UTF8Span(validating: Span(_unsafeElements: bytes.bindMemory(to: UInt8.self)))) != nil
}

/// Where bytes stop being well-formed UTF-8; nil if they don't.
package func firstInvalidUTF8(_ bytes: UnsafeRawBufferPointer) -> Int? {
  do throws(UTF8.ValidationError) {
    _ = try UTF8Span(validating: Span(_unsafeElements: bytes.bindMemory(to: UInt8.self)))
    return nil
  } catch {
    return error.byteOffsets.lowerBound
  }
}
