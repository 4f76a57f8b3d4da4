import Foundation
import Testing

/// A threading or naming mistake in a template: `[[mistake||cure]]` marks all that tells it from its working twin.
struct IsolationCase: Sendable, CustomTestStringConvertible {
  /// What is wrong, as the name of its file too.
  let name: String
  /// What the compiler says about it, in the order of the text.
  let diagnostic: [String]
  let template: String

  var testDescription: String { name }

  var mistake: String { source { $0.0 } }
  var cure: String { source { $0.1 } }

  private func source(_ choose: ((String, String)) -> String) -> String {
    template.components(separatedBy: "[[").enumerated().map { index, part in
      guard index > 0, let end = part.range(of: "]]"), let middle = part.range(of: "||") else { return part }
      let chosen = choose((String(part[..<middle.lowerBound]), String(part[middle.upperBound..<end.lowerBound])))
      return chosen + part[end.upperBound...]
    }.joined()
  }
}
