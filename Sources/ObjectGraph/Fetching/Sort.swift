package import ObjectModel

/// A sort by a property, or by a path of properties through to-one relationships.
///
///     [.ascending(\.lastName, caseInsensitive: true), .descending("department.name")]
///
/// Nil comes first in ascending order; texts are ordered by their Unicode code points.
public struct Sort<Object: ManagedObject>: Sendable, Hashable {
  /// The names of the properties.
  public var keyPath: [String]
  /// Whether the smallest value comes first.
  public var isAscending: Bool
  /// Whether texts that differ in case only are equal; of no meaning for other types.
  public var isCaseInsensitive: Bool
  /// A key path that has no name, to be thrown by the fetch.
  private var failure: ConditionError?

  /// A sort by names that are joined by dots.
  public init(_ keyPath: String, isAscending: Bool = true, caseInsensitive: Bool = false) {
    self.keyPath = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    self.isAscending = isAscending
    isCaseInsensitive = caseInsensitive
  }

  /// A sort by a property that the class was generated with.
  ///
  /// A key path to anything else is an error that the fetch throws.
  public init<Value>(_ keyPath: KeyPath<Object, Value>, isAscending: Bool = true, caseInsensitive: Bool = false) {
    self.isAscending = isAscending
    isCaseInsensitive = caseInsensitive
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
  public static func ascending(_ keyPath: String, caseInsensitive: Bool = false) -> Self {
    Self(keyPath, caseInsensitive: caseInsensitive)
  }

  /// A sort by names that are joined by dots, the largest value first.
  public static func descending(_ keyPath: String, caseInsensitive: Bool = false) -> Self {
    Self(keyPath, isAscending: false, caseInsensitive: caseInsensitive)
  }

  /// A sort by a property that the class was generated with, the smallest value first.
  public static func ascending<Value>(_ keyPath: KeyPath<Object, Value>, caseInsensitive: Bool = false) -> Self {
    Self(keyPath, caseInsensitive: caseInsensitive)
  }

  /// A sort by a property that the class was generated with, the largest value first.
  public static func descending<Value>(_ keyPath: KeyPath<Object, Value>, caseInsensitive: Bool = false) -> Self {
    Self(keyPath, isAscending: false, caseInsensitive: caseInsensitive)
  }

  /// - Throws: ``ConditionError`` if the entity has no such path, or its values have no order.
  package func resolved(for entity: Entity) throws(ConditionError) -> ResolvedSort {
    if let failure { throw failure }
    let sort = ResolvedSort(keyPath: keyPath, isAscending: isAscending, isCaseInsensitive: isCaseInsensitive)
    _ = try sort.propertyPath(from: entity)
    return sort
  }
}
