/// More records are bad than the job allows.
struct TooManyRejects: Error, CustomStringConvertible {
  let cursor: ImportCursor
  /// The bad records, where they are on disk no more.
  var kept: [RejectedRecord] = []
  let description: String

  init(_ cursor: ImportCursor, first: RejectedRecord, _ path: String) {
    self.cursor = cursor
    let records = cursor.counts.records
    description =
      first.failure(
        path, more: cursor.counts.rejects - 1, among: records == cursor.total ? nil : records
      ).message
  }
}
