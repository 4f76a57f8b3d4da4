/// The reasons for which an object's values were replaced as a whole; see ``ManagedObject/awake(fromSnapshotEvents:)``.
public struct SnapshotEventType: OptionSet, Sendable {
  /// The reasons as bits.
  public let rawValue: UInt

  /// Reasons by their bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// An insert was undone or redone.
  public static let undoInsertion = SnapshotEventType(rawValue: 1 << 1)
  /// A delete was undone or redone.
  public static let undoDeletion = SnapshotEventType(rawValue: 1 << 2)
  /// Changed values were undone or redone.
  public static let undoUpdate = SnapshotEventType(rawValue: 1 << 3)
  /// A rollback restored the committed values.
  public static let rollback = SnapshotEventType(rawValue: 1 << 4)
  /// A refresh reapplied the object's changes to newer values.
  public static let refresh = SnapshotEventType(rawValue: 1 << 5)
  /// A merge policy chose other values than the saved ones.
  public static let mergePolicy = SnapshotEventType(rawValue: 1 << 6)
}
