import DelimitedText

/// Takes records out of the text of a stream.
protocol RecordReader: AnyObject {
  func next() throws(InputError) -> RecordSource.Step
  var record: PresentRecord { get }
  /// After the present record.
  var position: RecordPosition { get }
  /// Of every record, where they have to be equal; nil until the first that is right.
  var fieldCount: Int? { get }
  /// Those known so far.
  var columnNames: [String]? { get }
}
