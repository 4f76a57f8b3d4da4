import DelimitedText

/// The first part of an input's text, which tells how the rest is written.
struct InputSample {
  static let size = 1 << 17

  /// In UTF-8.
  let text: [UInt8]
  /// True if that is all.
  let isWhole: Bool

  /// Returns the rest after a number of lines.
  func dropping(lines count: Int) -> InputSample {
    var rest = text[...]
    for _ in 0..<count {
      guard let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else { return self }
      let isPair = rest[end] == 0x0D && end + 1 < rest.endIndex && rest[end + 1] == 0x0A
      rest = rest[(end + (isPair ? 2 : 1))...]
    }
    return InputSample(text: Array(rest), isWhole: isWhole)
  }

  /// The separator that a first line of its own names, as spreadsheets write and read it: `sep=;`.
  var namedSeparator: UInt8? {
    guard text.count >= 6, text.prefix(4).map({ $0 | 0x20 }).elementsEqual("sep=".utf8.map { $0 | 0x20 }),
      isLineEnd(text[5])
    else { return nil }
    let separator = text[4]
    return separator == 0 || separator == 0x22 || separator >= 0x80 || isLineEnd(separator) ? nil : separator
  }

  private func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

  /// The sample without a byte order mark, and without the mark that ends a text of DOS.
  var withoutMarks: InputSample {
    var rest = text[...]
    if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    if isWhole, rest.last == TextBytes.endMark { rest = rest.dropLast() }
    return rest.count == text.count ? self : InputSample(text: Array(rest), isWhole: isWhole)
  }
}

extension InputSample {
  /// Calls the body with each whole record in the sample, or with nil for a bad one.
  func forEachRecord(_ dialect: DelimitedDialect, limit: Int, _ body: (RecordFields?) -> Void) {
    guard dialect.problem == nil else { return }
    var reader = DelimitedReader(dialect: dialect, blockSize: max(text.count, 1))
    var given = false
    var count = 0
    while count < limit {
      do throws(DelimitedTextError) {
        switch try reader.nextRecord() {
        case .end: return
        case .needsInput:
          // The text after the sample is not known.
          if given, !isWhole { return }
          reader.fill { buffer in
            defer { given = true }
            guard !given else { return 0 }
            buffer.copyBytes(from: text)
            return text.count
          }
          continue
        case .record:
          let record = reader.record
          if record.isBlankLine { continue }
          body(record.fields)
        }
      } catch {
        body(nil)
      }
      count += 1
    }
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
  /// Reads at most a number of bytes.
  func bytes(_ limit: Int) throws(InputError) -> [UInt8] {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 16)
    defer { memory.deallocate() }
    let count = try readFully(into: memory)
    return Array(memory[..<count])
  }
}
