import TextSupport

/// The actions and operands of a command, by the words that its usage has for them.
struct Synopsis {
  /// An action such as `drain` with the operands that follow it; the first has no name, and stands for no action.
  private struct Form {
    let action: String?
    var operands: [String] = []
  }

  private var forms = [Form(action: nil)]

  /// - Parameter command: Its usage names options as they are in its table.
  init(_ command: Command) {
    let separators = Set("[]|, \n")
    var words = command.usage.split { separators.contains($0) }[...]
    while let word = words.popFirst() {
      if word.hasPrefix("-") {
        let option = (command.options + Tool.options).first { $0.name == word }
        if case .required = option?.value { _ = words.popFirst() }
      } else if word.allSatisfy({ $0 == "." }) || word.hasPrefix("=") || word == command.name || word == "bobbinctl" {
        continue
      } else if word == word.lowercased() {
        forms.append(Form(action: String(word)))
      } else {
        forms[forms.count - 1].operands.append(String(word))
      }
    }
  }

  /// The actions that a command can begin with.
  var actions: [String] { forms.compactMap(\.action) }

  /// All words that stand for operands, without dots.
  var words: [String] { forms.flatMap { $0.operands.map(Self.withoutDots) } }

  /// The continuation of operands: an action, or the word that stands for the next operand.
  func next(after given: [String]) -> (actions: [String], word: String?) {
    let form = given.first.flatMap { first in forms.first { $0.action == first } }
    if given.isEmpty, !actions.isEmpty { return (actions, forms[0].operands.first.map(Self.withoutDots)) }
    let operands = (form ?? forms[0]).operands
    let index = form == nil ? given.count : given.count - 1
    if index < operands.count, !operands.prefix(index).contains(where: Self.isRepeated) {
      return ([], Self.withoutDots(operands[index]))
    }
    return ([], operands.last(where: Self.isRepeated).map(Self.withoutDots))
  }

  private static func isRepeated(_ word: String) -> Bool { word.hasSuffix("...") }

  private static func withoutDots(_ word: String) -> String { word.hasSuffix("...") ? String(word.dropLast(3)) : word }
}
