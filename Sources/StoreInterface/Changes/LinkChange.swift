package import ObjectModel

/// The two objects of a link in a many-to-many relationship.
package struct LinkKey: Hashable, Sendable {
  /// The index of the join table in the model.
  package let table: Int
  package let left: ManagedObjectID
  package let right: ManagedObjectID

  package init(table: Int, left: ManagedObjectID, right: ManagedObjectID) {
    self.table = table
    self.left = left
    self.right = right
  }
}

/// The change of one link of a many-to-many relationship.
///
/// A link is there or not, so a change says what holds now and needs no base: whoever saves later decides, link by
/// link, and two contexts that add different links, or the same one, to the same object are not in conflict.
package struct LinkChange: Sendable {
  package let key: LinkKey
  package let isPresent: Bool
  /// The right object's place among those of the left one; nil to leave it as it is.
  package var order: Int64?
  /// The left object's place among those of the right one; nil to leave it as it is.
  package var inverseOrder: Int64?

  package init(_ key: LinkKey, isPresent: Bool, order: Int64? = nil, inverseOrder: Int64? = nil) {
    self.key = key
    self.isPresent = isPresent
    self.order = order
    self.inverseOrder = inverseOrder
  }

  /// This change and then another of the same link, as one.
  package func followed(by next: LinkChange) -> LinkChange {
    guard isPresent, next.isPresent else { return next }
    var both = next
    both.order = next.order ?? order
    both.inverseOrder = next.inverseOrder ?? inverseOrder
    return both
  }
}

extension LinkChange {
  /// Returns the changes of the link between two objects, seen from one of them: one, and one of its twin after it if
  /// the relationship is its own inverse.
  package static func changes(
    _ table: JoinTable, of property: Property, from object: ManagedObjectID, to destination: ManagedObjectID,
    isPresent: Bool, order: Int64? = nil, inverseOrder: Int64? = nil
  ) -> [LinkChange] {
    func change(
      _ left: ManagedObjectID, _ right: ManagedObjectID, order: Int64?, inverseOrder: Int64?
    ) -> LinkChange {
      LinkChange(
        LinkKey(table: table.index, left: left, right: right), isPresent: isPresent, order: order,
        inverseOrder: inverseOrder)
    }
    if table.isSymmetric {
      return [
        change(object, destination, order: order, inverseOrder: nil),
        change(destination, object, order: inverseOrder, inverseOrder: nil),
      ]
    }
    return property.isLeftEnd
      ? [change(object, destination, order: order, inverseOrder: inverseOrder)]
      : [change(destination, object, order: inverseOrder, inverseOrder: order)]
  }
}

/// A link as one of its objects sees it.
package struct Link: Sendable {
  /// The object at the other end.
  package let destination: ManagedObjectID
  /// Its place among the destinations; nil comes first.
  package let order: Int64?

  package init(destination: ManagedObjectID, order: Int64?) {
    self.destination = destination
    self.order = order
  }
}
