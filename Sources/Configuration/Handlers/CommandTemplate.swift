/// A program with its arguments, in which specifiers such as `%i` stand for what differs from job to job.
package struct CommandTemplate: Sendable, Equatable {
  /// The specifiers of an argument.
  package enum Specifier: Character, Sendable, CaseIterable {
    /// The job's ID.
    case id = "i"
    /// The number of the attempt.
    case attempt = "a"
    /// The job's queue.
    case queue = "q"
    /// The payload folder.
    case payload = "p"
  }

  enum Part: Sendable, Equatable {
    case text(String)
    case specifier(Specifier)
  }

  /// The program's absolute path.
  package private(set) var executable = ""
  private var arguments: [[Part]] = []

  init() {}

  /// Reads a command line.
  init(_ line: String) throws(CommandLineWords.Problem) {
    let words = try CommandLineWords.split(line)
    guard let first = words.first, first.hasPrefix("/"), !first.contains("%") else {
      throw CommandLineWords.Problem(
        message: "expected the program's absolute path and its arguments; no shell reads it")
    }
    executable = first
    for word in words.dropFirst() { arguments.append(try Self.parts(of: word)) }
  }

  private static func parts(of word: String) throws(CommandLineWords.Problem) -> [Part] {
    var parts: [Part] = []
    var text = ""
    var rest = word[...]
    while let character = rest.popFirst() {
      guard character == "%" else {
        text.append(character)
        continue
      }
      let next = rest.popFirst()
      if next == "%" {
        text.append("%")
      } else if let specifier = next.flatMap(Specifier.init) {
        parts += [.text(text), .specifier(specifier)]
        text = ""
      } else {
        let known = Specifier.allCases.map { "%\($0.rawValue)" }.joined(separator: ", ")
        throw CommandLineWords.Problem(
          message: "has the unknown specifier %\(next.map { String($0) } ?? ""); there are \(known), and %% for %")
      }
    }
    return parts + [.text(text)]
  }

  /// The script of an interpreter: the first argument that is no option, if that is an absolute path for all jobs.
  package var script: String? {
    let words = arguments.map { parts -> String? in
      guard case .text(let text)? = parts.first, parts.count == 1 else { return nil }
      return text
    }
    guard let word = words.first(where: { $0?.hasPrefix("-") != true }) ?? nil, word.hasPrefix("/") else { return nil }
    return word
  }

  /// The arguments for one job.
  package func arguments(_ value: (Specifier) -> String) -> [String] {
    arguments.map { parts in
      parts.reduce(into: "") { text, part in
        switch part {
        case .text(let more): text += more
        case .specifier(let specifier): text += value(specifier)
        }
      }
    }
  }
}
