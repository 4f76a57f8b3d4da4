extension JSONParser {
  /// Where a key begins, found by reading the object again.
  ///
  /// Reading a text twice when something is wrong with it costs less than keeping every key's place when nothing is.
  func offset(ofKey wanted: String, inObjectAt start: Int) -> Int? {
    var parser = self
    parser.index = start
    return try? parser.goToMember(wanted)
  }

  /// Where the key or element at a path begins; an element's step is its index from 0.
  ///
  /// Nil if there is none.
  mutating func offset(of path: [String]) -> Int? {
    var offset = index
    do throws(JSONError) {
      try skipSpace()
      offset = index
      for step in path {
        let found =
          switch next {
          case Byte.openBrace: try goToMember(step)
          case Byte.openBracket: try goToElement(step)
          default: Int?.none
          }
        guard let found else { return nil }
        offset = found
      }
      return offset
    } catch {
      return nil
    }
  }

  /// Goes to a member's value and returns where its key begins.
  private mutating func goToMember(_ wanted: String) throws(JSONError) -> Int? {
    _ = try open()
    var isFirst = true
    while try goToElement(closing: Byte.closeBrace, isFirst: isFirst) {
      isFirst = false
      let place = index
      if try key() == wanted { return place }
      _ = try value()
    }
    return nil
  }

  /// Goes to an element and returns where it begins.
  private mutating func goToElement(_ wanted: String) throws(JSONError) -> Int? {
    guard let wanted = Int(wanted) else { return nil }
    _ = try open()
    var count = 0
    while try goToElement(closing: Byte.closeBracket, isFirst: count == 0) {
      if count == wanted { return index }
      count += 1
      _ = try value()
    }
    return nil
  }
}
