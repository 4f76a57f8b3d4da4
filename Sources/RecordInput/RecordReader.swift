import DelimitedText

/// A reader of records from a stream of text.
protocol RecordReader: AnyObject {
  func next() throws(InputError) -> RecordStep
  var record: PresentRecord { get }
  /// The position after the present record.
  var position: RecordPosition { get }
  /// The number of fields of every record, if it has to be equal; nil until the first good record.
  var fieldCount: Int? { get }
  /// The names known so far.
  var columnNames: [String]? { get }
}

/// The outcome of going to the next record.
package enum RecordStep: Sendable, Hashable {
  /// A record is there.
  case record
  /// The present record can't be used: the source has its text, and the next call continues after it.
  indirect case bad(RecordError)
  case end
}
