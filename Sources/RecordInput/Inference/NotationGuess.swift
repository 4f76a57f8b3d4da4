/// Finds out how numbers are written that are not written as in JSON.
struct NotationGuess: Sendable {
  private struct Candidate: Sendable {
    let notation: NumberNotation
    var numbers = NumberGuess()
    var sawGroup = false
  }

  // A no-break space and a narrow one stand between groups in French texts.
  private var candidates = [(",", "."), (".", ","), (",", " "), (",", "\u{A0}"), (",", "\u{202F}"), (".", "'")]
    .map { Candidate(notation: NumberNotation(decimal: $0.0, grouping: $0.1)) }

  /// Takes a field into account.
  mutating func add(_ field: UnsafeRawBufferPointer, _ scratch: ByteScratch) {
    var index = 0
    while index < candidates.count {
      if candidates[index].notation.spell(field, into: scratch), candidates[index].numbers.add(scratch.bytes) {
        if scratch.bytes.count < field.count { candidates[index].sawGroup = true }
        index += 1
      } else {
        candidates.remove(at: index)
      }
    }
  }

  var isOver: Bool { candidates.isEmpty }

  /// The notation and the type of all values; nil if there is none, or if the numbers depend on the choice.
  var result: (notation: NumberNotation, type: GuessedType)? {
    guard let decimal = candidates.first?.notation.decimal,
      candidates.allSatisfy({ $0.notation.decimal == decimal }),
      let best = candidates.first(where: \.sawGroup) ?? candidates.first, let type = best.numbers.type
    else { return nil }
    return (best.sawGroup ? best.notation : NumberNotation(decimal: decimal, grouping: ""), type)
  }
}
