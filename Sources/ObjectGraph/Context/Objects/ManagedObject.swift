public import ObjectModel

/// An object of a context: an identity, values, and relationships to other objects of that context.
///
/// Subclasses are generated from a model; entities without a class have plain managed objects. An object belongs to its
/// context and may be used on that context's executor only: it is not `Sendable`, so the compiler enforces it. Pass its
/// ``objectID`` to other contexts.
open class ManagedObject {
  /// The state of an object beyond its values.
  struct State: OptionSet {
    let rawValue: UInt8
    static let inserted = State(rawValue: 1)
    static let updated = State(rawValue: 2)
    static let deleted = State(rawValue: 4)
    /// The values have not been read yet.
    static let fault = State(rawValue: 8)
    /// Changed since the last `processPendingChanges`.
    static let touched = State(rawValue: 16)
    /// Held strongly by its context until the next save.
    static let held = State(rawValue: 32)
    /// The row is gone from the store; the values are nil.
    static let inaccessible = State(rawValue: 64)

    /// Drops what was known of a row that is gone, because it is there or will be looked for again.
    mutating func forgetMissing() { if contains(.inaccessible) { subtract([.inaccessible, .deleted]) } }
  }

  /// The object's identity, the same in every context.
  public final let objectID: ManagedObjectID
  final let entityReference: Unmanaged<Entity>
  /// The registry of the object's context; nil once that is gone, was reset, or rolled the object back.
  final unowned(unsafe) var registry: ObjectRegistry?
  // Accesses never overlap, as each ends before it calls other code, on the context's executor: no check at run time.
  @exclusivity(unchecked) final var state: State
  /// The coordinator's number of saves when a fetch began to read the row of this fault, or the number of the pin under
  /// which it was read; 0 for rows from elsewhere.
  final var readMark: UInt32 = 0
  /// The values; while the object is a fault, those that it will have without I/O.
  @exclusivity(unchecked) final var row: Row
  final var hasRow: Bool
  /// For a new object, the generation of relationships in which it was inserted; 0 for others.
  final var birthGeneration: UInt32 = 0
  /// The values as last fetched or saved, while the object is changed.
  final var base: Row?
  /// The values in the pending changes, if there are any.
  final var published: Row?
  /// The cached destinations of to-many relationships, by slot.
  final var toMany: [Int: ToManyCache]?
  /// The group of faults that are read together with this one; nil once it has a row.
  final var faultGroup: FaultGroup?

  /// Makes an object for its context; must not be called by other code.
  public required init(_ seed: Seed) {
    objectID = seed.objectID
    entityReference = Unmanaged.passUnretained(seed.entity)
    registry = seed.registry
    state = seed.state
    row = seed.row
    hasRow = seed.hasRow
  }

  deinit { registry?.unregister(self) }

  /// The initial state of an object, made by its context.
  public struct Seed {
    let objectID: ManagedObjectID
    unowned(unsafe) let entity: Entity
    unowned(unsafe) let registry: ObjectRegistry
    let state: State
    let row: Row
    let hasRow: Bool
  }

  /// The name of the entity whose objects are of this class; generated classes override it.
  ///
  /// The default is the name of the class. A class whose entity is called otherwise, or that has a generated class among
  /// its superclasses and an entity of its own, overrides it.
  open class var entityName: String { String(describing: self) }

  /// The names of the properties by key path, for `#Predicate` and sorting; generated classes override it.
  open class var propertyNamesByKeyPath: [AnyKeyPath: String] { [:] }

  // MARK: Lifecycle, for subclasses

  /// Called once, right after the object was inserted; changes made here are part of the insert.
  open func awakeFromInsert() {}

  /// Called when the object's values were fetched, with change tracking off.
  open func awakeFromFetch() {}

  /// Called after the object's values were replaced as a whole, with change tracking off.
  open func awake(fromSnapshotEvents events: SnapshotEventType) {}

  /// Called once when the object is marked for deletion, by `delete` or by a cascade: its relationships still stand.
  open func prepareForDeletion() {}

  /// Called before the object's values are dropped because it becomes a fault; not when it leaves memory.
  open func willTurnIntoFault() {}

  /// Called after the object has become a fault.
  open func didTurnIntoFault() {}

  /// Called on each changed object before a save; values set here are saved with the rest, and so are objects that are
  /// inserted with ``init(inContextOf:)``.
  ///
  /// It is called again on objects that were changed by that, until nothing changes any more.
  open func willSave() {}

  /// Called once on each changed object after a save, deleted ones included.
  open func didSave() {}

  /// Checks a value of one property; the default checks the model's rules. Overrides call `super`.
  ///
  /// Called for each property before a save, and by code that checks if a value could be set.
  /// - Parameters:
  ///   - value: a relationship's is the destination's URI, and nil if that is to-many: its current count is checked.
  ///     It is not made, and no file is read for it, unless it is looked at.
  ///   - key: the name of the property; an unknown name traps.
  /// - Throws: ``ValidationError``, or whatever an override throws; a save passes it on.
  open func validateValue(_ value: @autoclosure () -> Value, forKey key: String) throws {
    try checkRules(of: requireProperty(key), value)
  }

  /// Checks a new object before a save; the default checks each property. Overrides call `super` first.
  open func validateForInsert() throws { try throwAll(propertyErrors()) }

  /// Checks a changed object before a save; the default checks each property. Overrides call `super` first.
  open func validateForUpdate() throws { try throwAll(propertyErrors()) }

  /// Checks whether the object may be deleted, before a save; the default checks each attribute, and then that no
  /// relationship denies it. Overrides call `super` first.
  open func validateForDelete() throws {
    try throwAll(propertyErrors(ofRelationships: false) + (registry?.denials(of: self) ?? []))
  }

  /// True if this very class was generated from a model, so that it overrides no hook; generated classes override it.
  open class var isGenerated: Bool { self == ManagedObject.self }
}

extension ManagedObject: Hashable {
  /// True if both are one instance; objects of two contexts never are, even with equal IDs. Fires no fault.
  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }
  /// The hash of the ID; fires no fault.
  public func hash(into hasher: inout Hasher) { hasher.combine(objectID) }
}

extension ManagedObject {
  /// The object's entity.
  public final var entity: Entity { entityReference.takeUnretainedValue() }

  /// The context that the object belongs to, or nil if that is gone or was reset.
  public final var managedObjectContext: ManagedObjectContext? { registry?.context }

  /// True if the object was inserted since its context's last save.
  public final var isInserted: Bool { state.contains(.inserted) }

  /// True if the object was changed since its context's last save.
  public final var isUpdated: Bool { state.contains(.updated) && !state.contains(.inserted) && !isDeleted }

  /// True if the object is to be deleted by the next save.
  public final var isDeleted: Bool { state.contains(.deleted) }

  /// True if the object's values have not been read yet.
  public final var isFault: Bool { state.contains(.fault) }

  /// True if the object has changes that its context has not saved; a delete by others that it was found gone by is none.
  public final var hasChanges: Bool {
    !state.isDisjoint(with: [.inserted, .updated]) || state.contains(.deleted) && !state.contains(.inaccessible)
  }
}

extension ManagedObject: CustomStringConvertible {
  /// Entity, key and state; no values, so that it may be logged.
  public var description: String {
    let traits: [(State, String)] = [
      (.fault, "fault"), (.inserted, "inserted"), (.updated, "updated"), (.deleted, "deleted"),
    ]
    let shown = traits.filter { state.contains($0.0) }.map(\.1)
    return "<\(entity.name) \(objectID.key)\(shown.isEmpty ? "" : " (" + shown.joined(separator: ", ") + ")")>"
  }
}

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

/// The classes of a model's objects by entity, and the entities by class.
struct ObjectClasses: @unchecked Sendable {
  // @unchecked: metatypes are immutable; they just are not marked so.
  private let byEntity: [ManagedObject.Type]
  private let entities: [ObjectIdentifier: Entity]

  init(_ model: ManagedObjectModel) {
    var entities: [ObjectIdentifier: Entity] = [:]
    byEntity = model.entities.map { entity in
      guard let objectClass = entity.objectClass else { return ManagedObject.self }
      guard let managed = objectClass as? ManagedObject.Type else {
        preconditionFailure("the class \(objectClass) of the entity \(entity.name) is not a subclass of ManagedObject")
      }
      entities[ObjectIdentifier(managed)] = entity
      return managed
    }
    self.entities = entities
  }

  subscript(_ entityIndex: UInt16) -> ManagedObject.Type { byEntity[Int(entityIndex)] }

  func entity(of objectClass: ManagedObject.Type) -> Entity? { entities[ObjectIdentifier(objectClass)] }
}
