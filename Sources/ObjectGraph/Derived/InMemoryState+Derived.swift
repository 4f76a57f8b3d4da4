import Foundation
import ObjectModel

extension InMemoryState {
  /// The keys of the objects whose value may change.
  func affected(_ attribute: DerivedAttribute, by changes: ChangedKeys) throws(StoreError) -> Set<Int64> {
    try attribute.affected(by: changes) { hop, origin, keys throws(StoreError) in near(hop, origin, keys: keys) }
  }

  private func near(_ hop: Property, _ origin: Entity, keys: Set<Int64>) -> Set<Int64> {
    if let table = hop.joinTable {
      return Set(keys.flatMap { links[table.index].links(of: $0, isLeft: !hop.isLeftEnd).map(\.key) })
    }
    if hop.storage == .reference {
      return Set(
        tables[origin.root.index].filter { _, stored in
          isKind(stored.row, of: origin)
            && stored.row.referenceIfPresent(hop.slot).map { keys.contains($0.key) } ?? false
        }.keys)
    }
    guard let inverse = hop.inverse, let destination = hop.destination else { return [] }
    return Set(keys.compactMap { tables[destination.root.index][$0]?.row.referenceIfPresent(inverse.slot)?.key })
  }

  private func isKind(_ row: Row, of entity: Entity) -> Bool { model.entities[Int(row.entityIndex)].isKind(of: entity) }

  /// Computes what may have changed.
  mutating func computeDerived(
    _ changes: ChangedKeys, affectedBefore: [Set<Int64>]
  ) throws(StoreError) -> [DerivedValue] {
    let now = Date()
    var changes = changes
    var values: [DerivedValue] = []
    // Attributes that are computed from others come behind them.
    for (attribute, before) in zip(derived, affectedBefore) {
      let computed = try compute(attribute, of: before.union(try affected(attribute, by: changes)), now)
      if attribute.operation != .now { changes.add(computed) }
      values += computed
    }
    return values
  }

  private mutating func compute(
    _ attribute: DerivedAttribute, of keys: Set<Int64>, _ now: Date
  ) throws(StoreError) -> [DerivedValue] {
    var values: [DerivedValue] = []
    let (root, slot) = (attribute.entity.root.index, attribute.property.slot)
    guard let type = attribute.property.attribute?.type else { return [] }
    for key in keys {
      guard let stored = tables[root][key], isKind(stored.row, of: attribute.entity) else { continue }
      let computed = try value(attribute, key, row: stored.row, now: now)
      let value = type.isReal ? computed.asDouble : computed
      replaceRow(of: key, root: root, by: stored.with(derived: value, slot))
      let id = ManagedObjectID(key: key, entity: attribute.entity, coordinatorOrdinal: coordinatorOrdinal)
      values.append(DerivedValue(id: id, slot: slot, value: value))
    }
    return values
  }

  private func value(
    _ attribute: DerivedAttribute, _ key: Int64, row: Row, now: Date
  ) throws(StoreError) -> Value {
    if attribute.operation == .now { return .date(now) }
    var (key, row) = (key, row)
    for hop in attribute.hops where hop.storage == .reference {
      guard let next = row.referenceIfPresent(hop.slot), let destination = tables[Int(next.rootIndex)][next.key] else {
        return attribute.operation == .count ? 0 : .null
      }
      (key, row) = (next.key, destination.row)
    }
    guard let function = FetchExpression.Function(attribute.operation) else {
      return attribute.operation.applied(to: value(of: attribute.source, in: row))
    }
    var aggregate = Aggregate(function, isDecimal: attribute.source?.attribute?.type == .decimal)
    for row in destinations(of: key, attribute) {
      if let source = attribute.source { aggregate.add(value(of: source, in: row)) } else { aggregate.addRow() }
    }
    return try aggregate.result()
  }

  private func destinations(of key: Int64, _ attribute: DerivedAttribute) -> [Row] {
    guard let hop = attribute.hops.last, let destination = hop.destination else { return [] }
    let table = tables[destination.root.index]
    if let join = hop.joinTable {
      return links[join.index].links(of: key, isLeft: hop.isLeftEnd).compactMap { table[$0.key]?.row }
    }
    guard let inverse = hop.inverse else { return [] }
    return table.values.map(\.row).filter {
      isKind($0, of: destination) && $0.referenceIfPresent(inverse.slot)?.key == key
    }
  }

  private func value(of property: Property?, in row: Row) -> Value {
    guard let property, let attribute = property.attribute else { return .null }
    // Only binary data can fail to be read, and nothing is derived from that.
    return (try? row.value(of: attribute, property.slot)) ?? .null
  }
}

extension FetchExpression.Function {
  fileprivate init?(_ operation: Derivation.Operation) {
    switch operation {
    case .count: self = .count
    case .sum: self = .sum
    case .min: self = .min
    case .max: self = .max
    case .average: self = .average
    case .copy, .canonical, .lowercase, .uppercase, .now: return nil
    }
  }
}

extension Derivation.Operation {
  fileprivate func applied(to value: Value) -> Value {
    if case .string(let text) = value { .string(applied(to: text)) } else { value }
  }
}

extension AttributeType {
  fileprivate var isReal: Bool { self == .double || self == .float }
}

extension Value {
  fileprivate var asDouble: Value { if case .integer(let number) = self { .double(Double(number)) } else { self } }
}
