package import DelimitedText

/// What is stated about an input; what is nil is found out from its first part.
package struct InputOptions: Sendable {
  /// How fields are quoted.
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
  /// Whether the first record names the columns.
  package var hasHeader: Bool?
  /// Lines before anything else that are no part of the data.
  package var skipLines = 0
  /// The keys that lead to the array of records in a JSON text.
  package var path: [String]?
  /// The columns of JSON records: keys, or keys with points between them that lead into objects. Nil for every key that
  /// occurs, in the order of appearance.
  package var columns: [String]?
  /// Whether the keys of objects inside records are columns, if all columns are wanted.
  package var flattensObjects = false
  /// Fields of every record where no header names them; nil for as many as the first has.
  package var fieldCount: Int?
  /// Whether records without a header may have any number of fields.
  package var allowsAnyFieldCount = false
  /// Whether a record is bad that has a value in a column at the end that the header does not name.
  package var refusesUnnamedValues = false
  /// Bytes of one record.
  package var maxRecordSize = 16 << 20
  package var maxFieldCount = 32_767
  /// Bytes that a packed file may unpack to.
  package var maxUnpackedSize = Int.max
  /// Bytes read at once.
  package var blockSize = 1 << 20

  package init() {}

  /// Whether something is stated that only fields between separators have.
  var statesFields: Bool { separator != nil || quoting != nil }

  /// What contradicts itself, with the option's name; nil if a source takes these options.
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
    if let quote, separator == nil, DialectDetection.separators.contains(quote) {
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
