/// Why an object's values were replaced other than by setting them; see ``ManagedObject/awake(fromSnapshotEvents:)``.
public struct SnapshotEventType: OptionSet, Sendable {
  /// The reasons as bits.
  public let rawValue: UInt

  /// Reasons by their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// An insert was taken back, or done again.
  public static let undoInsertion = SnapshotEventType(rawValue: 1 << 1)
  /// A delete was taken back, or done again.
  public static let undoDeletion = SnapshotEventType(rawValue: 1 << 2)
  /// Changed values were taken back, or set again.
  public static let undoUpdate = SnapshotEventType(rawValue: 1 << 3)
  /// A rollback gave the committed values back.
  public static let rollback = SnapshotEventType(rawValue: 1 << 4)
  /// A refresh put the object's changes on top of newer values.
  public static let refresh = SnapshotEventType(rawValue: 1 << 5)
  /// A merge policy chose other values than those that were saved.
  public static let mergePolicy = SnapshotEventType(rawValue: 1 << 6)
}
