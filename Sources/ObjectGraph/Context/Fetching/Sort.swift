package import ObjectModel

/// A sort by a property, or by a path of properties through to-one relationships.
///
///     [.ascending(\.lastName, .localizedStandard), .descending("department.name")]
///
/// Nil comes first in ascending order.
public struct Sort<Object: ManagedObject>: Sendable, Hashable {
  /// The names of the properties.
  public var keyPath: [String]
  /// True if the smallest value comes first.
  public var isAscending: Bool
  /// The order by which texts are compared.
  public var textOrder: TextOrder
  /// A key path that has no name, to be thrown by the fetch.
  private var failure: ConditionError?

  /// A sort by names that are joined by dots.
  public init(_ keyPath: String, isAscending: Bool = true, _ textOrder: TextOrder = .codePoints) {
    self.keyPath = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    self.isAscending = isAscending
    self.textOrder = textOrder
  }

  /// A sort by a property that the class was generated with.
  ///
  /// A key path to anything else is an error that the fetch throws.
  public init<Value>(
    _ keyPath: KeyPath<Object, Value>, isAscending: Bool = true, _ textOrder: TextOrder = .codePoints
  ) {
    self.isAscending = isAscending
    self.textOrder = textOrder
    if let name = Object.propertyNamesByKeyPath[keyPath] {
      self.keyPath = [name]
    } else {
      self.keyPath = []
      failure = ConditionError(
        .unknownProperty,
        "\(Object.self) has no modelled property at the key path; name paths through relationships in text, as in "
          + "\"department.name\"", fragment: "\(keyPath)")
    }
  }

  /// A sort by names that are joined by dots, the smallest value first.
  public static func ascending(_ keyPath: String, _ textOrder: TextOrder = .codePoints) -> Self {
    Self(keyPath, textOrder)
  }

  /// A sort by names that are joined by dots, the largest value first.
  public static func descending(_ keyPath: String, _ textOrder: TextOrder = .codePoints) -> Self {
    Self(keyPath, isAscending: false, textOrder)
  }

  /// A sort by a property that the class was generated with, the smallest value first.
  public static func ascending<Value>(_ keyPath: KeyPath<Object, Value>, _ textOrder: TextOrder = .codePoints) -> Self {
    Self(keyPath, textOrder)
  }

  /// A sort by a property that the class was generated with, the largest value first.
  public static func descending<Value>(_ keyPath: KeyPath<Object, Value>, _ textOrder: TextOrder = .codePoints) -> Self
  {
    Self(keyPath, isAscending: false, textOrder)
  }

  /// - Throws: ``ConditionError`` if the entity has no such path, or its values have no order.
  package func resolved(for entity: Entity) throws -> ResolvedSort {
    if let failure { throw failure }
    let sort = ResolvedSort(keyPath: keyPath, isAscending: isAscending, textOrder: textOrder)
    _ = try sort.propertyPath(from: entity)
    return sort
  }
}
