import CLinux
import Glibc

/// Text in UTF-8, made of text in another encoding by iconv.
///
/// Where something is no text in that encoding, a byte comes out that UTF-8 never has: the record that it is in is
/// refused then, and the others are not.
final class ConvertedBytes: ByteStream {
  static let mark: UInt8 = 0xFF

  private let source: any ByteStream
  private let converter: iconv_t
  private let unitSize: Int
  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
  private var next = 0
  private var end = 0
  private var inputHasEnded = false
  private var hasEnded = false
  /// What came out when a caller's memory was too small for it.
  private var small: [UInt8] = []

  init(_ source: any ByteStream, from encoding: TextEncoding) throws(InputError) {
    guard let converter = iconv_open("utf-8", encoding.name), converter != TextEncoding.failure else {
      throw InputError("iconv can't read \(encoding)")
    }
    self.source = source
    self.converter = converter
    unitSize = encoding.unitSize
  }

  deinit {
    iconv_close(converter)
    memory.deallocate()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    // A character of any encoding fits into this, so that every call gets on.
    guard buffer.count >= 32, small.isEmpty else { return try readSmall(into: buffer) }
    var output = UnsafeMutablePointer<CChar>?(buffer.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self))
    var space = buffer.count
    while space == buffer.count, !hasEnded {
      if !inputHasEnded, end - next < 64 { try fill() }
      convert(&output, &space)
    }
    return buffer.count - space
  }

  private func convert(_ output: inout UnsafeMutablePointer<CChar>?, _ space: inout Int) {
    guard end > next else {
      if inputHasEnded {
        hasEnded = true
        // Encodings with a state may have something to say at the end.
        _ = iconv(converter, nil, nil, &output, &space)
      }
      return
    }
    var input = UnsafeMutablePointer<CChar>?(
      memory.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self) + next)
    var left = end - next
    let result = iconv(converter, &input, &left, &output, &space)
    let problem = errno
    next = end - left
    guard result == -1 else { return }
    let isIncomplete = problem == EINVAL && inputHasEnded
    guard problem == EILSEQ || isIncomplete, space > 0, let place = output else { return }
    place.pointee = CChar(bitPattern: Self.mark)
    output = place + 1
    space -= 1
    next = isIncomplete ? end : min(next + unitSize, end)
  }

  private func fill() throws(InputError) {
    memory.copyBytes(from: UnsafeRawBufferPointer(rebasing: memory[next..<end]))
    end -= next
    next = 0
    let count = try source.read(into: UnsafeMutableRawBufferPointer(rebasing: memory[end...]))
    end += count
    inputHasEnded = count == 0
  }

  /// Reads through memory of our own, when a caller's is too small for one character; and what is left of that.
  private func readSmall(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    if small.isEmpty {
      var text = [UInt8](repeating: 0, count: 32)
      let outcome = text.withUnsafeMutableBytes { memory in
        Result { () throws(InputError) -> Int in try read(into: memory) }
      }
      small = Array(text.prefix(try outcome.get()))
    }
    let count = min(small.count, buffer.count)
    buffer.copyBytes(from: small[..<count])
    small.removeFirst(count)
    return count
  }
}
