import Foundation
import TextSupport

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
    let parsed = ParsedArguments(
      arguments,
      options: [
        Option("--output", .required("FILE"), help: "The Swift file to write"),
        Option("--module-access", .required("LEVEL"), help: "public or internal"),
      ])
    if let problem = parsed.problems.first { throw UsageError(message: problem) }
    guard let level = AccessLevel(rawValue: parsed["--module-access"] ?? "public") else {
      throw UsageError(message: "--module-access is public or internal")
    }
    if parsed.operands.count > 1 { throw UsageError(message: "more than one input: \(parsed.operands[1])") }
    guard let input = parsed.operands.first, let output = parsed["--output"] else {
      throw UsageError(message: "an input and an --output are needed")
    }
    self.input = URL(fileURLWithPath: input)
    self.output = URL(fileURLWithPath: output)
    access = level
  }
}
