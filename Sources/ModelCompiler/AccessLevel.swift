/// The access level of generated code.
enum AccessLevel: String {
  case `public`, `internal`

  /// The modifier of a declaration, with the space after it.
  var modifier: String { self == .public ? "public " : "" }
  /// The modifier of what may be subclassed or overridden.
  var openModifier: String { self == .public ? "open " : "" }
}
