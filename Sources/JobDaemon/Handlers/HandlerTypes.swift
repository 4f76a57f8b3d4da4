package import Jobs
import SystemSupport

/// Which types of jobs handlers take.
package enum HandlerTypes {
  /// Types that every daemon has.
  static let builtIn: Set<String> = ["noop", "import", "image.encode"]

  /// Checks that each type has one handler.
  ///
  /// - Parameter own: the handlers that a program adds to the built-in ones.
  package static func check(_ own: [any JobHandler]) throws(HandlerTypeError) {
    var taken: [String: any JobHandler] = [:]
    for handler in own {
      let name = "\"\(displayName(handler.type))\""
      if handler.type.isEmpty {
        throw HandlerTypeError("\(kind(of: handler)) has no type; give it one that job files can name")
      }
      if builtIn.contains(handler.type) {
        throw HandlerTypeError(
          "\(kind(of: handler)) handles the type \(name), which is built in; give it a type of its own")
      }
      if let first = taken.updateValue(handler, forKey: handler.type) {
        throw HandlerTypeError(
          "the type \(name) has two handlers, \(kind(of: first)) and \(kind(of: handler)); give one of them another type"
        )
      }
    }
  }

  private static func kind(of handler: any JobHandler) -> String { "\(type(of: handler))" }
}

/// Two handlers want the same jobs.
package struct HandlerTypeError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
