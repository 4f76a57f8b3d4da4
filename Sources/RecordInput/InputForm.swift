package import DelimitedText

/// The notation of an input, as stated or detected.
package struct InputForm: Sendable, Hashable {
  package var format: InputFormat
  package var compression: Compression
  package var encoding: TextEncoding
  /// Of fields between separators.
  package var dialect: DelimitedDialect
  /// True if columns have names: in the first record, or as keys of JSON objects.
  package var hasHeader: Bool
  /// The keys that lead to the array of records in a JSON text.
  package var path: [String]
  /// The number of lines before the first record or the header: those stated, and one that names the separator.
  package var skippedLines = 0
  /// True if the whole JSON text is one record.
  package var holdsOneRecord = false

  /// True if fields stand between separators.
  package var isDelimited: Bool { format == .csv || format == .tsv }
}

/// The format of an input's records.
package enum InputFormat: String, Sendable, Hashable, CaseIterable {
  /// Fields between separators, of which the comma is only the most usual.
  case csv
  /// As `csv`, with tabs.
  case tsv
  /// A JSON value on each line.
  case ndjson
  /// One JSON text: an array of records, or one record.
  case json
}

/// The compression of an input.
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
