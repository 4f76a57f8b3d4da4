/// What a pass through all records has found.
struct Survey {
  private(set) var records: Int64
  private(set) var rejects: Int64
  private(set) var first: RejectedRecord?
  /// The first bad records, to be shown.
  private(set) var kept: [RejectedRecord] = []

  /// Memory is bounded by so many.
  static let keptCount = 10_000

  /// - Parameter counts: of the records before.
  init(_ counts: ImportCounts) {
    records = counts.records
    rejects = counts.rejects
  }

  mutating func note(_ good: Int, _ bad: [RejectedRecord]) {
    records += Int64(good + bad.count)
    rejects += Int64(bad.count)
    if first == nil { first = bad.first }
    if kept.count < Self.keptCount { kept += bad.prefix(Self.keptCount - kept.count) }
  }
}
