/// The first part of an input's text, which tells how the rest is written.
struct InputSample {
  static let size = 1 << 17

  /// In UTF-8.
  let text: [UInt8]
  /// Whether that is all.
  let isWhole: Bool

  /// What is left behind so many lines.
  func dropping(lines count: Int) -> InputSample {
    var rest = text[...]
    for _ in 0..<count {
      guard let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else { return self }
      let isPair = rest[end] == 0x0D && end + 1 < rest.endIndex && rest[end + 1] == 0x0A
      rest = rest[(end + (isPair ? 2 : 1))...]
    }
    return InputSample(text: Array(rest), isWhole: isWhole)
  }

  /// Without a byte order mark.
  var withoutMark: InputSample {
    text.starts(with: [0xEF, 0xBB, 0xBF]) ? InputSample(text: Array(text.dropFirst(3)), isWhole: isWhole) : self
  }
}

/// Bytes in memory.
final class SampleBytes: ByteStream {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    let count = min(buffer.count, rest.count)
    buffer.copyBytes(from: rest.prefix(count))
    rest = rest.dropFirst(count)
    return count
  }
}

extension ByteStream {
  /// The next bytes, so many at most.
  func bytes(_ limit: Int) throws(InputError) -> [UInt8] {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 16)
    defer { memory.deallocate() }
    let count = try readFully(into: memory)
    return Array(memory[..<count])
  }
}
