/// An argument that jobs of a declared type have, written `NAME` or `NAME:KIND`.
package struct HandlerArgument: Sendable, Equatable {
  /// The kind of value that an argument must have.
  package enum Kind: String, Sendable, CaseIterable {
    case any, string, integer, number, boolean, array, object
    /// A string that can be a path.
    case path
  }

  package let name: String
  package let kind: Kind

  /// Completes the sentence "expected ...".
  static let allowed =
    "names of arguments, each with an optional kind, such as \"input:path title\"; kinds are "
    + Kind.allCases.map(\.rawValue).joined(separator: ", ")

  init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, !name.isEmpty else { return nil }
    self.name = String(name)
    guard parts.count == 2 else {
      kind = .any
      return
    }
    guard let kind = Kind(rawValue: String(parts[1])) else { return nil }
    self.kind = kind
  }
}
