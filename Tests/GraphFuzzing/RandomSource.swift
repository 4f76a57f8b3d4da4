/// Random choices that are the same in each run (SplitMix64, G. Steele and others).
struct RandomSource: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed &* 0xD129_0DA9_8B2F_3A41 &+ 0x1F83_D9AB_FB41_BD6B
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True in so many of a hundred cases.
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }

  mutating func pick<Choices: Collection>(_ choices: Choices) -> Choices.Element? {
    choices.randomElement(using: &self)
  }

  /// One of the choices, as often as its weight says.
  mutating func pick<Choice>(weighted choices: [(Int, Choice)]) -> Choice {
    var rest = number(0..<choices.reduce(0) { $0 + $1.0 })
    for (weight, choice) in choices {
      if rest < weight { return choice }
      rest -= weight
    }
    preconditionFailure("the weights add up")
  }
}
