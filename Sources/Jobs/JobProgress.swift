/// How far an attempt has come, in units of its choice.
public struct JobProgress: Sendable, Hashable {
  /// How many units are done.
  public var done: Int64 = 0
  /// How many units there are; nil if that is not known.
  public var total: Int64?
  /// What is counted, in the plural, such as `rows`.
  public var unit = ""
  /// What is being done, in words.
  public var message: String?

  /// How far a job has come.
  public init(done: Int64 = 0, total: Int64? = nil, unit: String = "", message: String? = nil) {
    self.done = done
    self.total = total
    self.unit = unit
    self.message = message
  }
}
