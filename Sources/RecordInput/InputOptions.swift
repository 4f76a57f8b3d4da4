package import DelimitedText

/// The stated properties of an input; those that are nil are detected from its first part.
package struct InputOptions: Sendable {
  /// The quoting of fields.
  package enum Quoting: Sendable, Hashable {
    case none
    case byte(UInt8)
  }

  package var format: InputFormat?
  package var compression: Compression?
  package var encoding: TextEncoding?
  /// The ASCII character between fields.
  package var separator: UInt8?
  package var quoting: Quoting?
  /// Lines that begin with this ASCII character are skipped.
  package var comment: UInt8?
  package var strayQuotes = DelimitedDialect.StrayQuotes.error
  package var raggedRows = RaggedRows.error
  /// True if the first record names the columns.
  package var hasHeader: Bool?
  /// The number of lines before the data.
  package var skipLines = 0
  /// The keys that lead to the array of records in a JSON text.
  package var path: [String]?
  /// The columns of JSON records: keys, or keys with points between them that lead into objects. Nil for every key that
  /// occurs, in the order of appearance.
  package var columns: [String]?
  /// True if the keys of objects inside records are columns, if all columns are wanted.
  package var flattensObjects = false
  /// The number of fields of every record if no header names them; nil for as many as the first has.
  package var fieldCount: Int?
  /// True if records without a header may have any number of fields.
  package var allowsAnyFieldCount = false
  /// True if a record is bad that has a value in a column at the end that the header does not name.
  package var refusesUnnamedValues = false
  /// The most bytes of one record.
  package var maxRecordSize = 16 << 20
  package var maxFieldCount = 32_767
  /// The most bytes that a compressed file may unpack to.
  package var maxUnpackedSize = Int.max
  /// The number of bytes read at once.
  package var blockSize = 1 << 20

  /// The separators that are tried where none is stated.
  static let usualSeparators: [UInt8] = [0x09, 0x3B, 0x7C, 0x2C]

  package init() {}

  /// True if something is stated that only fields between separators have.
  var statesFields: Bool { separator != nil || quoting != nil }

  /// The first contradiction, with the option's name; nil if a source accepts these options.
  package var problem: (key: String, message: String)? {
    let special = [("separator", separator), ("quote", quote), ("comment", comment)]
    for (index, (key, byte)) in special.enumerated() {
      guard let byte else { continue }
      if byte == 0 || byte == 0x0A || byte == 0x0D || byte >= 0x80 {
        return (key, "must be an ASCII character that ends no line")
      }
      if let other = special[..<index].first(where: { $0.1 == byte }) {
        return (key, "must differ from \"\(other.0)\"")
      }
    }
    if separator == 0x22, quoting == nil {
      return ("separator", "is the quote, if nothing is stated; state \"quote\", too")
    }
    if let quote, separator == nil, Self.usualSeparators.contains(quote) {
      return ("quote", "may be the separator, too; state \"separator\"")
    }
    if format == .ndjson || format == .json {
      if let (key, _) = special.first(where: { $0.1 != nil }) { return (key, "has no meaning for JSON") }
    }
    if format != nil, format != .json, path?.isEmpty == false { return ("records", "has a meaning for JSON only") }
    return nil
  }

  private var quote: UInt8? { if case .byte(let quote)? = quoting { quote } else { nil } }
}

/// The treatment of a record with another number of fields than the header or the first record.
package enum RaggedRows: String, Sendable, Hashable, CaseIterable {
  /// It is rejected.
  case error
  /// A short record is padded with missing values; a long one is rejected.
  case pad
  /// A long record is truncated; a short one is rejected.
  case truncate
  /// Both: short ones are padded, long ones cut.
  case fit

  /// True if a record with this number of fields is made to fit.
  func allows(_ found: Int, insteadOf expected: Int) -> Bool {
    self == .fit || self == (found < expected ? .pad : .truncate)
  }

  /// True if fields that are too many are dropped.
  package var cuts: Bool { self == .truncate || self == .fit }
}

extension InputOptions {
  /// The part of the input that sets the number of fields.
  var firstOrList: String { fieldCount == nil ? "the first record" : "the list of columns" }
}
