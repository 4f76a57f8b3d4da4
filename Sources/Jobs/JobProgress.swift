/// The progress of an attempt, in units of its choice.
public struct JobProgress: Sendable, Hashable {
  /// The number of units done.
  public var done: Int64 = 0
  /// The number of units in all; nil if that is not known.
  public var total: Int64?
  /// The name of the unit, in the plural, such as `rows`.
  public var unit = ""
  /// A message about the current work.
  public var message: String?

  /// A job's progress.
  public init(done: Int64 = 0, total: Int64? = nil, unit: String = "", message: String? = nil) {
    self.done = done
    self.total = total
    self.unit = unit
    self.message = message
  }
}
