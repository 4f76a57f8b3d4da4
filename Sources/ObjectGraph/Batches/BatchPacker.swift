import ObjectModel

/// Packs the rows of a batch insert into columns, a chunk at a time.
///
/// On the hot path nothing is allocated: numbers go into arrays, texts into one arena per column, and a property is found
/// by being the one that followed in the row before.
struct BatchPacker: ~Copyable {
  let entity: Entity
  private let coordinator: PersistentStoreCoordinator
  private let capacity: Int
  /// By slot.
  private var columns: [PackedColumn]
  private var keyPaths = BatchSequence<AnyKeyPath>()
  private var names = BatchSequence<String>()
  /// Complete rows of this chunk.
  private(set) var count = 0
  /// The number of the row in the request.
  private(set) var number = 0
  /// Values without a column: binary data, and the destinations of relationships.
  private(set) var extras: [BatchExtra] = []
  /// The first mistake in this row.
  private var failure: (any Error)?

  init(_ entity: Entity, _ coordinator: PersistentStoreCoordinator, capacity: Int) {
    self.entity = entity
    self.coordinator = coordinator
    self.capacity = capacity
    let defaults = coordinator.defaults[entity.index]
    let isConstrained = entity.root.withDescendants.contains { !$0.entityDescription.uniquenessConstraints.isEmpty }
    columns = entity.properties.map {
      PackedColumn($0, defaults: defaults, capacity: capacity, tracksGiven: isConstrained)
    }
  }

  /// Packs rows until the chunk is full.
  ///
  /// - Parameter fill: sets the values of a row; returns true if there is none.
  /// - Returns: whether there may be more.
  mutating func pack(_ fill: (inout BatchPacker) throws -> Bool) throws -> Bool {
    while count < capacity {
      keyPaths.restart()
      names.restart()
      let isAtEnd = try fill(&self)
      if let failure { throw failure }
      if isAtEnd {
        for slot in columns.indices { columns[slot].discard(row: count) }
        extras.removeAll { $0.row == count }
        return false
      }
      count += 1
      number += 1
    }
    return true
  }

  /// The rows of the chunk.
  mutating func batch(firstKey: Int64) -> RowBatch {
    var built: [RowBatch.Column] = []
    for slot in columns.indices { if let column = columns[slot].built(count: count) { built.append(column) } }
    return RowBatch(
      entity: entity, layout: coordinator.layouts[entity.index], coordinatorOrdinal: coordinator.ordinal,
      firstKey: firstKey, count: count, columns: built)
  }

  /// Begins the next chunk.
  mutating func removeAll() {
    for slot in columns.indices { columns[slot].removeAll() }
    extras = []
    count = 0
  }

  mutating func fail(_ error: any Error) { failure = failure ?? error }
}

// MARK: - Finding properties

extension BatchPacker {
  /// No slot: the property can't be written, which was noted.
  static var noSlot: Int { -1 }

  /// The slot of the property at a key path.
  ///
  /// - Parameter names: the names of the class's properties, asked for the first time only.
  @inline(__always)
  mutating func slot(_ keyPath: AnyKeyPath, names: @autoclosure () -> [AnyKeyPath: String]) -> Int {
    if let slot = keyPaths.next(where: { $0 === keyPath }) { return slot }
    guard let name = names()[keyPath] else {
      fail(
        ConditionError(
          .unknownProperty, "\(entity.name) has no modelled property at the key path", fragment: "\(keyPath)"))
      return Self.noSlot
    }
    return learn(keyPath, name)
  }

  private mutating func learn(_ keyPath: AnyKeyPath, _ name: String) -> Int {
    let slot = find(name)
    if slot != Self.noSlot { keyPaths.append(keyPath, slot) }
    return slot
  }

  /// The slot of the property of a name.
  @inline(__always)
  mutating func slot(_ name: String) -> Int {
    if let slot = names.next(where: { $0 == name }) { return slot }
    let slot = find(name)
    if slot != Self.noSlot { names.append(name, slot) }
    return slot
  }

  private mutating func find(_ name: String) -> Int {
    do { return try entity.storedProperty(name).slot } catch {
      fail(error)
      return Self.noSlot
    }
  }
}

// MARK: - Setting values

extension BatchPacker {
  @inline(__always)
  mutating func set(integer: Int64, _ slot: Int) {
    if slot >= 0, columns[slot].type == .integer64 { return columns[slot].set(integer: integer, row: count) }
    set(.integer(integer), slot)
  }

  @inline(__always)
  mutating func set(real: Double, _ slot: Int) {
    if slot >= 0, columns[slot].type == .double, !real.isNaN { return columns[slot].set(real: real, row: count) }
    set(.double(real), slot)
  }

  /// Sets a text in valid UTF-8.
  @inline(__always)
  mutating func set(text: UnsafeRawBufferPointer, _ slot: Int) {
    if slot >= 0, columns[slot].type == .string { return columns[slot].set(bytes: text, row: count) }
    set(.string(String(decoding: text, as: UTF8.self)), slot)
  }

  mutating func setNull(_ slot: Int) { set(.null, slot) }

  /// Sets a value of any type.
  ///
  /// - Parameter found: what the value was, for the message if it does not fit.
  mutating func set(_ value: Value, _ slot: Int, found: @autoclosure () -> String? = nil) {
    guard slot >= 0 else { return }
    guard let type = columns[slot].type else {
      if value.isNull { return setDestinations([], slot) }
      return failDestination(slot, found() ?? value.typeName)
    }
    guard let converted = value.converted(to: type) else {
      return fail(entity.mismatch(columns[slot].property, type.rawValue, found: found() ?? value.typeName))
    }
    // Stores keep NaN as nil.
    switch converted.isNotANumber ? .null : converted {
    case .null where !columns[slot].isPacked:
      extras.append(BatchExtra(row: count, property: columns[slot].property, value: .blob(nil)))
    case .null: columns[slot].setNull(row: count)
    case .integer(let number): columns[slot].set(integer: number, row: count)
    case .boolean(let flag): columns[slot].set(integer: flag ? 1 : 0, row: count)
    case .double(let number): columns[slot].set(real: number, row: count)
    case .date(let date): columns[slot].set(real: date.timeIntervalSinceReferenceDate, row: count)
    case .string(let text): set(spelled: text, slot)
    case .decimal(let number): set(spelled: number.description, slot)
    case .url(let url): set(spelled: url.absoluteString, slot)
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { columns[slot].set(bytes: $0, row: count) }
    case .data(let data): set(Blob(data), slot)
    }
  }

  private mutating func set(spelled text: String, _ slot: Int) {
    var text = text
    text.withUTF8 { columns[slot].set(bytes: UnsafeRawBufferPointer($0), row: count) }
  }

  mutating func set(_ blob: Blob, _ slot: Int) {
    guard slot >= 0 else { return }
    let property = columns[slot].property
    guard property.storage == .blob else {
      return fail(entity.mismatch(property, columns[slot].type?.rawValue ?? "an object's ID", found: "Blob"))
    }
    extras.append(BatchExtra(row: count, property: property, value: .blob(blob)))
  }

  /// Sets the destination of a to-one relationship, or adds destinations of a to-many one.
  mutating func setDestinations(_ ids: [ManagedObjectID], _ slot: Int) {
    guard slot >= 0 else { return }
    extras.append(BatchExtra(row: count, property: columns[slot].property, value: .destinations(ids)))
  }

  /// Sets the destination of a to-one relationship.
  mutating func set(_ id: ManagedObjectID?, _ slot: Int) {
    guard slot >= 0 else { return }
    guard columns[slot].property.storage == .reference else { return failDestination(slot, "ManagedObjectID") }
    setDestinations(id.map { [$0] } ?? [], slot)
  }

  /// Adds destinations of a to-many relationship.
  mutating func set(_ ids: [ManagedObjectID], _ slot: Int) {
    guard slot >= 0 else { return }
    guard columns[slot].property.storage == .toMany else { return failDestination(slot, "[ManagedObjectID]") }
    setDestinations(ids, slot)
  }

  private mutating func failDestination(_ slot: Int, _ found: String) {
    let property = columns[slot].property
    let expected =
      property.attribute?.type.rawValue ?? (property.storage == .toMany ? "IDs of objects" : "an object's ID")
    fail(entity.mismatch(property, expected, found: found))
  }

  /// Sets what a dictionary holds.
  mutating func set(_ values: BatchInsertRequest.Values) {
    for (name, value) in values { set(any: value, slot(name)) }
  }

  private mutating func set(any value: (any Sendable)?, _ slot: Int) {
    guard slot >= 0 else { return }
    guard let value else { return setNull(slot) }
    if columns[slot].type == nil { return setDestinations(value, slot) }
    // A cast is several times as expensive as a look at the type.
    let type = type(of: value)
    if type == String.self, var text = value as? String {
      text.withUTF8 { set(text: UnsafeRawBufferPointer($0), slot) }
    } else if type == Int.self, let number = value as? Int {
      set(integer: Int64(number), slot)
    } else if let blob = value as? Blob {
      set(blob, slot)
    } else if let converted = Value(value) {
      set(converted, slot, found: "\(type)")
    } else {
      fail(entity.mismatch(columns[slot].property, columns[slot].type?.rawValue ?? "", found: "\(type)"))
    }
  }

  private mutating func setDestinations(_ value: any Sendable, _ slot: Int) {
    switch value {
    case let id as ManagedObjectID: set(id, slot)
    case let ids as [ManagedObjectID]: set(ids, slot)
    case let ids as Set<ManagedObjectID>: set(Array(ids), slot)
    case let value as Value where value.isNull: setNull(slot)
    default: failDestination(slot, "\(type(of: value))")
    }
  }
}

extension Value {
  fileprivate var typeName: String { unwrapped.map { "\(type(of: $0))" } ?? "nil" }
}

/// A value of a row in a batch insert that has no place in a column.
struct BatchExtra {
  enum Value {
    case blob(Blob?)
    case destinations([ManagedObjectID])
  }

  /// The row in its chunk.
  let row: Int
  let property: Property
  let value: Value
}

/// The slots of properties in the order in which rows set them, which is mostly the same in each row.
struct BatchSequence<Key> {
  private var known: [(key: Key, slot: Int)] = []
  private var place = 0
  /// Key paths that are made at run time could be others in each row.
  private static var limit: Int { 1_024 }

  /// Begins a row.
  mutating func restart() { place = 0 }

  /// The slot of a property; nil if it was not met yet.
  ///
  /// - Complexity: O(1) if the property follows the one before as it did in earlier rows, else O(n).
  @inline(__always)
  mutating func next(where isMeant: (Key) -> Bool) -> Int? {
    if place < known.count, isMeant(known[place].key) {
      place += 1
      return known[place - 1].slot
    }
    return find(isMeant)
  }

  private mutating func find(_ isMeant: (Key) -> Bool) -> Int? {
    guard let index = known.firstIndex(where: { isMeant($0.key) }) else { return nil }
    place = index + 1
    return known[index].slot
  }

  mutating func append(_ key: Key, _ slot: Int) {
    if known.count < Self.limit { known.append((key, slot)) }
    place = known.count
  }
}
