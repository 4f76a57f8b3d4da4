/// A configuration that can't be used, with all its problems.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// At least one, in the order of the files and of their lines.
  package let problems: [ConfigurationProblem]

  package init(problems: [ConfigurationProblem]) { self.problems = problems }

  /// One line per problem.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}
