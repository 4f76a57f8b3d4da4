/// A piece of SQL with the values of its parameters, in the order of its question marks.
package struct SQLSegment: Sendable, Hashable {
  package private(set) var text: String
  package private(set) var bindings: [SQLBinding]

  /// - Parameter text: SQL that holds no values.
  package init(_ text: String = "") {
    self.text = text
    bindings = []
  }

  /// A parameter.
  package init(binding: SQLBinding) {
    text = "?"
    bindings = [binding]
  }

  package mutating func append(_ text: String) { self.text += text }

  package mutating func append(_ other: SQLSegment) {
    text += other.text
    bindings += other.bindings
  }

  package static func + (left: SQLSegment, right: SQLSegment) -> SQLSegment {
    var result = left
    result.append(right)
    return result
  }

  package static func + (left: SQLSegment, right: String) -> SQLSegment {
    var result = left
    result.append(right)
    return result
  }

  package static func + (left: String, right: SQLSegment) -> SQLSegment { SQLSegment(left) + right }
}

extension Sequence<SQLSegment> {
  /// The segments one after the other, with a separator between them.
  package func joined(separator: String) -> SQLSegment {
    var result = SQLSegment()
    for (index, segment) in enumerated() {
      if index > 0 { result.append(separator) }
      result.append(segment)
    }
    return result
  }
}
