/// The choices of somebody who looks at `top`: a value that keys change.
struct TopView: Sendable, Equatable {
  /// The lists below each other.
  enum List: Int, Sendable, CaseIterable {
    case running, waiting, failures
  }

  /// The order of running jobs.
  enum Order: String, Sendable, CaseIterable {
    /// Those that run the longest first.
    case time
    /// Those that are almost done first.
    case progress
    case type
    case id
  }

  var isPaused = false
  /// The list that is scrolled, and that has the room that others leave.
  var focus = List.running
  /// The rows of that list that have scrolled out at its top.
  var offset = 0
  var order = Order.time
  /// Only jobs, queues and types are shown whose name has this in it.
  var filter = ""
  /// True while the filter is being typed.
  var isTyping = false

  /// Changes what is shown.
  ///
  /// - Parameter page: the rows of the focused list that are seen at a time.
  /// - Returns: false for the key that ends `top`.
  mutating func press(_ key: TopKey, page: Int) -> Bool {
    if isTyping {
      type(key)
      return true
    }
    switch key {
    case .character("q"): return false
    case .character(" "): isPaused.toggle()
    case .character("s"): order = Self.next(after: order)
    case .character("/"): isTyping = true
    case .tab:
      focus = Self.next(after: focus)
      offset = 0
    case .escape:
      filter = ""
      offset = 0
    case .up, .character("k"): offset -= 1
    case .down, .character("j"): offset += 1
    case .pageUp: offset -= max(1, page)
    case .pageDown: offset += max(1, page)
    case .home: offset = 0
    // Frames stop at the end, wherever that is.
    case .end: offset = 1 << 32
    default: break
    }
    offset = max(0, offset)
    return true
  }

  private mutating func type(_ key: TopKey) {
    switch key {
    case .character(let character): filter.append(character)
    case .backspace: if !filter.isEmpty { filter.removeLast() }
    case .enter: isTyping = false
    case .escape:
      isTyping = false
      filter = ""
    default: break
    }
    offset = 0
  }

  private static func next<Value: CaseIterable & Equatable>(after value: Value) -> Value {
    let all = Array(Value.allCases)
    let index = all.firstIndex(of: value) ?? 0
    return all[(index + 1) % all.count]
  }
}

/// A key of the terminal.
enum TopKey: Sendable, Equatable {
  case character(Character)
  case up, down, pageUp, pageDown, home, end, tab, enter, escape, backspace

  /// The keys of what a terminal has sent; sequences of other keys are left out.
  ///
  /// The sequences are those of ECMA-48 and of the terminals that xterm has taught.
  static func keys(in bytes: [UInt8]) -> [TopKey] {
    var keys: [TopKey] = []
    var rest = bytes[...]
    while let first = rest.first {
      switch first {
      case 0x1b:
        let (key, length) = sequence(rest)
        if let key { keys.append(key) }
        rest = rest.dropFirst(length)
        continue
      case 0x09: keys.append(.tab)
      case 0x0a, 0x0d: keys.append(.enter)
      case 0x08, 0x7f: keys.append(.backspace)
      case ..<0x20: break
      default:
        let text = rest.prefix { $0 >= 0x20 && $0 != 0x7f }
        keys += String(decoding: text, as: UTF8.self).map(TopKey.character)
        rest = rest.dropFirst(text.count)
        continue
      }
      rest = rest.dropFirst()
    }
    return keys
  }

  /// The key of a sequence that begins with ESC, and the length of the sequence.
  private static func sequence(_ bytes: ArraySlice<UInt8>) -> (TopKey?, Int) {
    let introducer = bytes.dropFirst().first
    guard introducer == UInt8(ascii: "[") || introducer == UInt8(ascii: "O") else { return (.escape, 1) }
    let parameters = bytes.dropFirst(2).prefix { 0x30...0x3f ~= $0 }
    let length = 3 + parameters.count
    guard let last = bytes.dropFirst(2 + parameters.count).first else { return (nil, bytes.count) }
    let key: TopKey? =
      switch (last, String(decoding: parameters, as: UTF8.self)) {
      case (UInt8(ascii: "A"), _): .up
      case (UInt8(ascii: "B"), _): .down
      case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
      case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
      case (UInt8(ascii: "~"), "5"): .pageUp
      case (UInt8(ascii: "~"), "6"): .pageDown
      default: nil
      }
    return (key, length)
  }
}
