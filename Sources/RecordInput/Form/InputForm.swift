package import DelimitedText

/// How an input is written, as it was stated or found out.
package struct InputForm: Sendable, Hashable {
  package var format: InputFormat
  package var compression: Compression
  package var encoding: TextEncoding
  /// Of fields between separators.
  package var dialect: DelimitedDialect
  /// Whether columns have names: in the first record, or as keys of JSON objects.
  package var hasHeader: Bool
  /// The keys that lead to the array of records in a JSON text.
  package var path: [String]
  /// How many lines come before the first record or the header: those stated, and one that names the separator.
  package var skippedLines = 0
  /// Whether the whole JSON text is one record.
  package var holdsOneRecord = false

  /// Whether fields stand between separators.
  package var isDelimited: Bool { format == .csv || format == .tsv }
}
