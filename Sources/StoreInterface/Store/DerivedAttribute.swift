import Foundation
package import ObjectModel

/// A derived attribute with the properties that lead to what it is computed from.
package struct DerivedAttribute: Sendable {
  /// The entity that declares it; those that inherit from it have it too.
  package let entity: Entity
  package let property: Property
  package let operation: Derivation.Operation
  /// The relationships to follow; the last one of an aggregate is to-many.
  package let hops: [Property]
  /// The attribute at their end.
  package let source: Property?

  /// All derived attributes of a model, those that are computed from others behind them.
  package static func all(_ model: ManagedObjectModel) -> [DerivedAttribute] {
    var all = model.entities.flatMap { entity in
      entity.properties.filter { $0.declaringEntity == entity.name && $0.derivation != nil }.compactMap {
        DerivedAttribute($0, of: entity)
      }
    }
    // Stable: what is computed from a derived attribute comes behind those that are not.
    all = all.filter { !$0.isComputedFromDerived } + all.filter(\.isComputedFromDerived)
    return all
  }

  private init?(_ property: Property, of entity: Entity) {
    guard let derivation = property.derivation else { return nil }
    self.entity = entity
    self.property = property
    operation = derivation.operation
    var hops: [Property] = []
    var end = entity
    for name in derivation.relationships {
      guard let hop = end.property(named: name), let destination = hop.destination else { return nil }
      hops.append(hop)
      end = destination
    }
    self.hops = hops
    source = derivation.attribute.flatMap { end.property(named: $0) }
  }

  private var isComputedFromDerived: Bool { source?.derivation != nil }

  /// The entity that a hop begins at.
  package func origin(ofHop index: Int) -> Entity { index == 0 ? entity : hops[index - 1].destination ?? entity }
}

/// A value that a save has computed.
package struct DerivedValue: Sendable {
  package let id: ManagedObjectID
  package let slot: Int
  package let value: Value

  package init(id: ManagedObjectID, slot: Int, value: Value) {
    self.id = id
    self.slot = slot
    self.value = value
  }
}

/// The keys of what a save changes, as far as derived attributes are concerned.
package struct ChangedKeys {
  /// Keys by the index of the root entity.
  private var keys: [Int: Set<Int64>] = [:]
  private let links: [LinkChange]

  package init(_ sets: [ChangeSet]) {
    links = sets.flatMap(\.links)
    for set in sets {
      for change in set.changes { keys[Int(change.id.rootIndex), default: []].insert(change.id.key) }
      for batch in set.batches { keys[batch.entity.root.index, default: []].formUnion(batch.keys) }
    }
  }

  package subscript(_ entity: Entity) -> Set<Int64> { keys[entity.root.index] ?? [] }

  /// Notes values that were computed, from which others may be computed.
  package mutating func add(_ values: [DerivedValue]) {
    for value in values { keys[Int(value.id.rootIndex), default: []].insert(value.id.key) }
  }

  /// The objects at the near end of a relationship whose links change.
  fileprivate func nearEnds(of hop: Property) -> Set<Int64> {
    guard let table = hop.joinTable else { return [] }
    return Set(links.filter { $0.key.table == table.index }.map { (hop.isLeftEnd ? $0.key.left : $0.key.right).key })
  }
}

extension DerivedAttribute {
  /// The keys of the objects whose value may be another one after these changes.
  ///
  /// Relationships lead from what changes to them before the save or after it, so ask at both times.
  /// - Parameter near: the keys of objects from which a relationship leads to one of those with the given keys.
  package func affected(
    by changes: ChangedKeys, near: (_ hop: Property, _ origin: Entity, Set<Int64>) throws(StoreError) -> Set<Int64>
  ) throws(StoreError) -> Set<Int64> {
    var keys: Set<Int64> = []
    for (index, hop) in hops.enumerated().reversed() {
      if let destination = hop.destination { keys.formUnion(changes[destination]) }
      keys = keys.isEmpty ? [] : try near(hop, origin(ofHop: index), keys)
      keys.formUnion(changes.nearEnds(of: hop))
    }
    return keys.union(changes[entity])
  }
}

extension Derivation.Operation {
  /// Returns the derived value of one text.
  package func applied(to text: String) -> String {
    switch self {
    case .canonical: TextFolding.fold(text, [.caseInsensitive, .diacriticInsensitive])
    case .lowercase: text.lowercased()
    case .uppercase: text.uppercased()
    case .copy, .count, .sum, .min, .max, .average, .now: text
    }
  }
}

/// Sums and the like of decimal numbers, for stores whose database has none.
package enum DecimalAggregate {
  /// The result of a function over numbers, as text.
  ///
  /// - Parameters:
  ///   - name: the raw value of a `Derivation.Operation`.
  ///   - numbers: the numbers with spaces between them; nil for none.
  /// - Returns: nil for an unknown name, and where there is no result.
  package static func result(_ name: String, _ numbers: String?) -> String? {
    let decimals = (numbers ?? "").split(separator: " ").compactMap { Decimal(string: String($0)) }
    let result: Decimal? =
      switch Derivation.Operation(rawValue: name) {
      case .sum: decimals.reduce(0, +)
      case .average: decimals.isEmpty ? nil : decimals.reduce(0, +) / Decimal(decimals.count)
      case .min: decimals.min()
      case .max: decimals.max()
      default: nil
      }
    return result?.description
  }
}
