/// The notation of a text with separators: its special bytes, the strictness of quotes, and the largest record.
package struct DelimitedDialect: Sendable, Hashable {
  /// The treatment of a quote inside an unquoted field, and of text after a closing quote.
  package enum StrayQuotes: String, Sendable, Hashable, CaseIterable {
    /// The record is refused with an error.
    case error
    /// They are text: `a"b` stays `a"b`, and `"ab"cd` becomes `abcd`, as in Python's csv module.
    case literal
  }

  /// The largest record size that a reader can address: 1 GiB less one byte.
  package static let largestRecordSize = 1 << 30 - 1

  /// RFC 4180: comma and double quote.
  package static let csv = DelimitedDialect()
  /// Tabs between fields, double quotes allowed.
  package static let tsv = DelimitedDialect(separator: 0x09)

  /// The byte between fields.
  package var separator: UInt8
  /// The byte around fields that contain separators or line ends; nil if the text knows no quotes.
  package var quote: UInt8?
  /// A line that begins with this byte is skipped (and counted); nil if there are no comments.
  package var comment: UInt8?
  package var strayQuotes: StrayQuotes
  /// Bytes of one record including its quotes, without its line end.
  package var maxRecordSize: Int
  package var maxFieldCount: Int

  /// - Precondition: separator, quote and comment differ, and none is NUL, LF or CR; the limits are positive.
  package init(
    separator: UInt8 = 0x2C, quote: UInt8? = 0x22, comment: UInt8? = nil, strayQuotes: StrayQuotes = .error,
    maxRecordSize: Int = 16 << 20, maxFieldCount: Int = 32_767
  ) {
    self.separator = separator
    self.quote = quote
    self.comment = comment
    self.strayQuotes = strayQuotes
    self.maxRecordSize = maxRecordSize
    self.maxFieldCount = maxFieldCount
  }

  /// The problem with this dialect, for people; nil if a reader accepts it.
  package var problem: String? {
    let special = [separator] + [quote, comment].compactMap { $0 }
    if Set(special).count != special.count { return "separator, quote and comment must differ from each other" }
    if special.contains(where: { $0 == 0 || $0 == 0x0A || $0 == 0x0D }) {
      return "separator, quote and comment must not be NUL, line feed or carriage return"
    }
    if special.contains(where: { $0 >= 0x80 }) { return "separator, quote and comment must be ASCII characters" }
    if maxRecordSize < 1 || maxRecordSize > Self.largestRecordSize {
      return "the record size limit must be between 1 and \(Self.largestRecordSize) bytes"
    }
    if maxFieldCount < 1 { return "the field count limit must be at least 1" }
    return nil
  }
}
