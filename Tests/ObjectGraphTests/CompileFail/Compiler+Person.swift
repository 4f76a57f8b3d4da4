import TestSupport

extension Compiler {
  /// What each source may count on besides the library.
  private static let person = """
    import ObjectGraph
    final class Person: ManagedObject {
      var age: Int64 {
        get { self[integer: 0] }
        set { self[integer: 0] = newValue }
      }
      override class var propertyNamesByKeyPath: [AnyKeyPath: String] { [\\Person.age: "age"] }
    }
    """

  /// The compiler's errors, each as its text; empty if the source compiles.
  static func errors(in body: String) async throws -> [String] {
    try await errors(in: ["body": body])["body"] ?? []
  }

  /// The compiler's errors by the name of the source that they are in; sources that compile are left out.
  static func errors(in bodies: [String: String]) async throws -> [String: [String]] {
    let imports = "import Dispatch\nimport Foundation\nimport ObjectGraph\n"
    return try await errors(in: bodies.mapValues { imports + $0 }, common: person)
  }
}
