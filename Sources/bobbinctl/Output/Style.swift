/// The role of a text, which decides its colour.
enum Style {
  case plain
  case title
  case good
  case active
  case bad

  func applied(to text: String, usesColor: Bool) -> String {
    // Select Graphic Rendition, ECMA-48 section 8.3.117.
    let code: Int? =
      switch self {
      case .plain: nil
      case .title: 1
      case .good: 32
      case .active: 36
      case .bad: 31
      }
    guard usesColor, let code, !text.isEmpty else { return text }
    return "\u{1b}[\(code)m\(text)\u{1b}[0m"
  }
}
