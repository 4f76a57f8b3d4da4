/// One mistake in a configuration file, and what would be right.
package struct ConfigurationProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of a problem; later versions may add kinds.
  package struct Code: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let unreadableFile = Code(rawValue: "unreadable-file")
    package static let invalidText = Code(rawValue: "invalid-text")
    package static let lineTooLong = Code(rawValue: "line-too-long")
    package static let inlineComment = Code(rawValue: "inline-comment")
    package static let malformedSection = Code(rawValue: "malformed-section")
    package static let missingAssignment = Code(rawValue: "missing-assignment")
    package static let keyOutsideSection = Code(rawValue: "key-outside-section")
    package static let unknownSection = Code(rawValue: "unknown-section")
    package static let unknownKey = Code(rawValue: "unknown-key")
    package static let missingKey = Code(rawValue: "missing-key")
    package static let invalidValue = Code(rawValue: "invalid-value")
  }

  package let code: Code
  package let file: String
  /// Counted from 1; nil if the file as a whole is meant.
  package var line: Int?
  package var section: String?
  package var key: String?
  package private(set) var value: String?
  /// The mistake, and what is allowed instead.
  package let message: String

  package init(
    code: Code, file: String, line: Int? = nil, section: String? = nil, key: String? = nil, value: String? = nil,
    message: String
  ) {
    self.code = code
    self.file = file
    self.line = line
    self.section = section
    self.key = key
    self.value = value.map(Self.withoutPassword)
    self.message = Self.withoutPassword(message)
  }

  /// A text with dots for passwords in addresses: they would get into logs and onto screens.
  static func withoutPassword(_ text: String) -> String {
    text.replacing(/:\/\/([^:\s]*):\S*@/) { "://\($0.1):...@" }.replacing(/password=[^&\s]*/) { _ in "password=..." }
  }

  /// `FILE:LINE: [Section] Key=Value: MESSAGE`, on one line.
  package var description: String {
    var place = file
    if let line { place += ":\(line)" }
    var subject: [String] = []
    if let section { subject.append("[\(section)]") }
    if let key { subject.append(key + (value.map { "=" + $0 } ?? "")) }
    return ([place] + (subject.isEmpty ? [] : [subject.joined(separator: " ")]) + [message]).joined(separator: ": ")
  }
}

extension ConfigurationProblem {
  /// A problem with a section as a whole.
  package init(section: String, at place: SectionPlace?, _ message: String) {
    self.init(
      code: .invalidValue, file: place?.file ?? "the configuration", line: place?.line, section: section,
      message: message)
  }
}

/// A configuration that can't be used, with all its problems.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// At least one, in the order of the files and of their lines.
  package let problems: [ConfigurationProblem]

  package init(problems: [ConfigurationProblem]) { self.problems = problems }

  /// One line per problem.
  package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// The place where a section begins.
package struct SectionPlace: Sendable, Equatable {
  package let file: String
  /// Counted from 1.
  package let line: Int
}
