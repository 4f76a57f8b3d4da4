/// Assigns the properties of a family their columns in the table that its entities share.
///
/// A column has its property's name, so siblings with a property of one name share its column. SQL ignores case in
/// names: where two differ in case only, or the store itself needs one, the first in the order of code points keeps it
/// and the others get a number (`iconURL`, `iconUrl_2`). The order of the model has no influence.
struct ColumnNames {
  private var taken: Set<String>

  /// - Parameter reserved: Names that the store has taken.
  init(reserved: some Sequence<String>) { taken = Set(reserved.map(\.asciiLowercased)) }

  /// Names the columns of all stored properties of a family.
  static func assign(family: [Entity]) {
    var columns = ColumnNames(reserved: ["_key", "_version", "_entity"])
    let stored = family.flatMap(\.properties).filter(\.isPersistent)
    // The library's own columns are named first, so that no property of the model can rename them.
    for isHidden in [true, false] {
      let properties = stored.filter { $0.isHidden == isHidden }
      let names = columns.take(Set(properties.map(\.name)))
      for property in properties { property.columnName = names[property.name] ?? property.name }
    }
    let references = stored.filter { $0.destination?.isInHierarchy == true }
    let names = columns.take(Set(references.map { $0.name + "_entity" }))
    for property in references { property.entityColumnName = names[property.name + "_entity"] }
  }

  /// Assigns each name itself or, where that is taken, itself with the first number that makes it unique.
  mutating func take(_ names: Set<String>) -> [String: String] {
    var given: [String: String] = [:]
    let sorted = names.sorted()
    for name in sorted where claim(name) { given[name] = name }
    for name in sorted where given[name] == nil { given[name] = claimNumbered(name) }
    return given
  }

  /// Reserves a name; false if it is taken.
  mutating func claim(_ name: String) -> Bool { taken.insert(name.asciiLowercased).inserted }

  /// Reserves a name with the first number that makes it unique.
  mutating func claimNumbered(_ name: String) -> String {
    var number = 2
    while !claim("\(name)_\(number)") { number += 1 }
    return "\(name)_\(number)"
  }
}

extension Entity {
  /// The columns of stored properties of this entity, by their names.
  package func columnNames(of properties: some Sequence<String>) -> [String] {
    properties.map { property(named: $0)?.columnName ?? $0 }
  }
}

extension String {
  /// The text in the form in which SQL compares names.
  package var asciiLowercased: String {
    String(decoding: utf8.map { $0 >= 0x41 && $0 <= 0x5a ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
