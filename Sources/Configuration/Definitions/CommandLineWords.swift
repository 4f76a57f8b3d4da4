/// Splits a line into words as systemd.syntax(7) describes it: quotes and escapes count, nothing else does.
enum CommandLineWords {
  /// The reason why a line can't be split into words.
  struct Problem: Error, Equatable {
    let message: String
  }

  private static let escapes: [Character: Character] = [
    "\\": "\\", "\"": "\"", "'": "'", "n": "\n", "t": "\t", "s": " ",
  ]

  /// The words of a line, without the quotes around them.
  static func split(_ line: String) throws(Problem) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var rest = line[...]
    while let character = rest.popFirst() {
      switch character {
      case "\\":
        guard let next = rest.popFirst() else { throw Problem(message: "ends in a backslash") }
        guard let meaning = escapes[next] else {
          throw Problem(message: "has the unknown escape \\\(next); there are \\\\, \\\", \\', \\n, \\t and \\s")
        }
        word = (word ?? "") + String(meaning)
      case "\"" where quote == nil, "'" where quote == nil:
        quote = character
        word = word ?? ""
      case quote: quote = nil
      case " " where quote == nil, "\t" where quote == nil:
        if let finished = word { words.append(finished) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    if let quote { throw Problem(message: "has a quote \(quote) that is not closed") }
    if let word { words.append(word) }
    return words
  }
}
