import Foundation

/// The command line.
struct Options {
  struct UsageError: Error {
    let message: String
  }

  static let usage = "usage: ModelCompiler INPUT.xcdatamodeld --output FILE.swift [--module-access public|internal]"

  let input: URL
  let output: URL
  let access: AccessLevel

  init(_ arguments: [String]) throws(UsageError) {
    var input: String?
    var output: String?
    var access = AccessLevel.public
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--output":
        guard let path = rest.popFirst() else { throw UsageError(message: "--output needs a path") }
        output = path
      case "--module-access":
        guard let level = rest.popFirst().flatMap(AccessLevel.init) else {
          throw UsageError(message: "--module-access is public or internal")
        }
        access = level
      case _ where argument.hasPrefix("-"): throw UsageError(message: "unknown option \(argument)")
      case _ where input == nil: input = argument
      default: throw UsageError(message: "more than one input: \(argument)")
      }
    }
    guard let input, let output else { throw UsageError(message: "an input and an --output are needed") }
    self.input = URL(fileURLWithPath: input)
    self.output = URL(fileURLWithPath: output)
    self.access = access
  }
}
