import ImageProtocol

/// The path of an output's file, whose last part may have placeholders, such as `{name}-{width}.{format}`.
struct OutputPath {
  /// A placeholder for a fact that is known once the picture is made.
  enum Placeholder: String, CaseIterable {
    /// The input's name without its ending.
    case name
    /// The output's size in pixels.
    case width, height
    /// The usual ending of names of the output's format.
    case format
    /// The name of the output's preset.
    case preset
    /// The SHA-256 of the output's bytes.
    case sha256
  }

  struct Problem: Error {
    let message: String
  }

  private enum Piece {
    case text(String)
    case placeholder(Placeholder)
  }

  /// The path as it was given.
  let text: String
  /// The path as far as no placeholder can be, with its last slash.
  private let folder: String
  private let pieces: [Piece]

  init(_ text: String) throws(Problem) {
    self.text = text
    let slash = text.lastIndex(of: "/")
    let start = slash.map(text.index(after:)) ?? text.startIndex
    folder = String(text[..<start])
    if let misplaced = Placeholder.allCases.map({ "{\($0.rawValue)}" }).first(where: folder.contains) {
      throw Problem(message: "has \(misplaced) in a folder's name; only the last part of a path can have placeholders")
    }
    pieces = try Self.pieces(of: text[start...])
  }

  /// The path itself, with braces as they are meant; nil if it has placeholders.
  var fixed: String? {
    let isFixed = pieces.allSatisfy { if case .text = $0 { true } else { false } }
    return isFixed ? filled { _ in "" } : nil
  }

  /// The format of the path's ending; nil for an unknown one.
  var format: ImageFormat? {
    guard case .text(let last)? = pieces.last, let dot = last.lastIndex(of: ".") else { return nil }
    let ending = last[last.index(after: dot)...].lowercased()
    return ImageFormat.writable.first { $0.nameEndings.contains(ending) }
  }

  /// The path with every placeholder filled in.
  func filled(_ value: (Placeholder) -> String) -> String {
    folder
      + pieces.map { piece in
        switch piece {
        case .text(let text): text
        case .placeholder(let placeholder): value(placeholder)
        }
      }.joined()
  }

  private static func pieces(of name: Substring) throws(Problem) -> [Piece] {
    var pieces: [Piece] = []
    var text = ""
    var rest = name
    while let character = rest.popFirst() {
      guard character == "{" || character == "}" else {
        text.append(character)
        continue
      }
      if rest.first == character {
        text.append(rest.removeFirst())
        continue
      }
      guard character == "{", let end = rest.firstIndex(of: "}"),
        let placeholder = Placeholder(rawValue: String(rest[..<end]))
      else {
        let known = Placeholder.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
        throw Problem(message: "has a brace that begins no placeholder; there are \(known), and {{ and }} for braces")
      }
      pieces.append(.text(text))
      pieces.append(.placeholder(placeholder))
      text = ""
      rest = rest[rest.index(after: end)...]
    }
    pieces.append(.text(text))
    return pieces
  }
}
