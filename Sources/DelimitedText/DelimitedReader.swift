/// Reads records of CSV, TSV and the like (RFC 4180 and as the world writes it) from an input given in blocks.
///
/// The caller alternates ``nextRecord()`` and ``fill(_:)``. Fields are handed out as pointers into the reader's own
/// memory, without copying or allocating; they are valid until the next call of either. A record ends with LF, CRLF or
/// a lone CR, also mixed; a UTF-8 byte order mark before a record is skipped, blank lines and comments are skipped and counted. Memory
/// is bounded by the block size and twice the record size limit. One thread at a time.
package struct DelimitedReader: ~Copyable {
  /// What ``nextRecord()`` came to.
  package enum Step: Sendable, Hashable {
    /// A record is there.
    case record
    /// The record goes on beyond the bytes given so far: call ``fill(_:)``, then ask again.
    case needsInput
    /// The input has ended and every record has been handed out.
    case end
  }

  enum Mode {
    case betweenRecords, unquoted, quoted, comment
  }

  package let dialect: DelimitedDialect
  let blockSize: Int
  /// A byte that is never quote where the dialect has none: LF is looked at before it.
  let quote: UInt8

  /// `capacity` bytes, and a scanning block of zeros beyond them so that every block can be read whole.
  var bytes: UnsafeMutablePointer<UInt8>
  var capacity: Int
  /// Bytes filled so far.
  var end = 0
  var inputHasEnded = false
  /// The input's offset of `bytes[0]`.
  var inputOffset: Int

  var cursor: SpecialByteCursor
  var mode = Mode.betweenRecords
  /// Indices of the current record's first byte, its end without line end, and the byte after its line end.
  var recordStart = 0
  var recordEnd = 0
  var nextStart = 0
  var fieldStart = 0
  /// The index of the current field's closing quote, or -1.
  var closingQuote = -1
  var hasDoubledQuotes = false
  /// Line, line's offset in the input, and index of the quote that opened the current field.
  var quoteLine = 0
  var quoteLineOffset = 0
  var quoteIndex = 0
  /// The line of the first quote in the record that was not closed before its line's end.
  var firstOpenLine: Int?

  var line: Int
  /// The input's offset of the current line.
  var lineOffset: Int
  /// The line the current record begins in, and its offset in the input.
  package var recordLine: Int
  var recordLineOffset: Int
  /// The record's first error, thrown when its end is found.
  var pendingError: DelimitedTextError?
  /// The record is over its size limit: its bytes are passed over and not kept.
  var isDiscarding = false

  var fields: UnsafeMutablePointer<FieldRange>
  var fieldCapacity: Int
  /// Fields in the current record, at least one.
  package internal(set) var fieldCount = 0

  /// The current record's texts that had doubled quotes; apart, so that the raw record stays as it came.
  var unescaped: UnsafeMutablePointer<UInt8>
  var unescapedCapacity: Int
  var unescapedCount = 0

  /// - Parameters:
  ///   - dialect: must have no ``DelimitedDialect/problem``.
  ///   - blockSize: bytes asked for by one ``fill(_:)``.
  ///   - position: where the given input begins, if an earlier reader read what is before it.
  package init(
    dialect: DelimitedDialect = .csv, blockSize: Int = 1 << 20, startingAt position: RecordPosition = .start
  ) {
    if let problem = dialect.problem { preconditionFailure("unusable dialect: \(problem)") }
    precondition(blockSize > 0, "a block has at least one byte")
    self.dialect = dialect
    self.blockSize = blockSize
    quote = dialect.quote ?? Byte.lineFeed
    capacity = blockSize + blockSize / 16
    bytes = Self.allocateBytes(capacity)
    cursor = SpecialByteCursor(separator: dialect.separator, quote: quote)
    inputOffset = position.byteOffset
    line = position.line
    lineOffset = position.byteOffset
    recordLine = position.line
    recordLineOffset = position.byteOffset
    fieldCapacity = min(64, dialect.maxFieldCount)
    fields = .allocate(capacity: fieldCapacity)
    unescapedCapacity = 256
    unescaped = .allocate(capacity: unescapedCapacity)
  }

  deinit {
    bytes.deallocate()
    fields.deallocate()
    unescaped.deallocate()
  }

  static func allocateBytes(_ capacity: Int) -> UnsafeMutablePointer<UInt8> {
    let size = capacity + SpecialByteCursor.blockSize
    let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
    bytes.initialize(repeating: 0, count: size)
    return bytes
  }
}
