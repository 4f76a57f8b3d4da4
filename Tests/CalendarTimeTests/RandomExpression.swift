/// Random calendar expressions: most of them valid, some of them broken.
struct RandomExpression {
  static let zones = [
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Africa/Casablanca", "Asia/Kolkata",
    "Pacific/Apia", "America/Santiago", "Europe/Dublin", "Asia/Tehran", "Africa/Cairo", "Pacific/Chatham",
  ]

  var random: any RandomNumberGenerator

  mutating func next() -> String {
    let expression = whole()
    return isOne(in: 12) ? broken(expression) : expression
  }

  private mutating func isOne(in count: Int) -> Bool { Int.random(in: 1...count, using: &random) == 1 }

  private mutating func whole() -> String {
    if isOne(in: 15) { return word() + zone() }
    if isOne(in: 60) { return "@\(Int.random(in: 0...4_000_000_000, using: &random))" }
    let parts = [isOne(in: 3) ? weekdays() : nil, isOne(in: 2) ? date() : nil, isOne(in: 8) ? nil : time()]
    let text = parts.compactMap(\.self).joined(separator: " ")
    return (text.isEmpty ? "Sun" : text) + zone()
  }

  private mutating func word() -> String {
    let words = [
      "minutely", "hourly", "daily", "Weekly", "monthly", "yearly", "annually", "quarterly", "semiannually",
      "bi-annually",
    ]
    return words[Int.random(in: 0..<words.count, using: &random)]
  }

  private mutating func zone() -> String {
    if isOne(in: 6) { return " UTC" }
    return isOne(in: 3) ? " " + Self.zones[Int.random(in: 0..<Self.zones.count, using: &random)] : ""
  }

  private mutating func weekdays() -> String {
    let names = ["Mon", "Tue", "wednesday", "Thu", "FRI", "Saturday", "Sun"]
    return (0..<Int.random(in: 1...3, using: &random)).map { _ in
      let first = Int.random(in: 0..<7, using: &random)
      let last = Int.random(in: first..<7, using: &random)
      return isOne(in: 2) ? names[first] : names[first] + (isOne(in: 4) ? "-" : "..") + names[last]
    }.joined(separator: ",")
  }

  private mutating func date() -> String {
    let year = isOne(in: 4) ? field(2025...2032) : isOne(in: 9) ? field(0...99) : "*"
    let month = isOne(in: 2) ? "*" : field(1...12)
    let day = isOne(in: 4) ? "*" : isOne(in: 3) ? "~" + field(1...28) : field(1...31)
    let end = day.hasPrefix("~") ? day : "-" + day
    return isOne(in: 3) ? month + end : year + "-" + month + end
  }

  private mutating func time() -> String {
    let hours = isOne(in: 3) ? "*" : isOne(in: 2) ? field(0...4) : field(0...23)
    let minutes = isOne(in: 4) ? "*" : isOne(in: 2) ? "00" : field(0...59)
    guard isOne(in: 3) else { return hours + ":" + minutes }
    let seconds = isOne(in: 4) ? "*" : isOne(in: 3) ? fraction() : field(0...59)
    return hours + ":" + minutes + ":" + seconds
  }

  private mutating func field(_ values: ClosedRange<Int>) -> String {
    (0..<(isOne(in: 3) ? Int.random(in: 2...4, using: &random) : 1)).map { _ in
      let first = Int.random(in: values, using: &random)
      let start = isOne(in: 2) && first < 10 ? "0\(first)" : "\(first)"
      let stop = isOne(in: 3) ? "..\(Int.random(in: first...values.upperBound, using: &random))" : ""
      return start + stop + (isOne(in: 4) ? "/\(Int.random(in: 1...12, using: &random))" : "")
    }.joined(separator: ",")
  }

  private mutating func fraction() -> String {
    let start = "\(Int.random(in: 0...40, using: &random)).\(Int.random(in: 0...99, using: &random))"
    return start
      + (isOne(in: 2) ? "/\(Int.random(in: 0...9, using: &random)).\(Int.random(in: 1...9, using: &random))" : "")
  }

  /// Puts a character in, takes one out, or says one twice.
  private mutating func broken(_ text: String) -> String {
    var characters = Array(text)
    let place = Int.random(in: 0..<characters.count, using: &random)
    switch Int.random(in: 0..<3, using: &random) {
    case 0: characters.remove(at: place)
    case 1: characters.insert(characters[place], at: place)
    default: characters.insert(Array("0159*/,.-~: @TMx+")[Int.random(in: 0..<17, using: &random)], at: place)
    }
    return String(characters)
  }
}
