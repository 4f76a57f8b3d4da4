import SystemSupport

/// Rows in aligned columns. Foreign text in cells is made safe here.
struct Table {
  struct Column {
    var title: String
    /// True if it may be cut when the terminal is narrow.
    var isFlexible = false
    /// True if it is cut in the middle, as its ends tell more.
    var keepsEnd = false
  }

  struct Cell {
    let text: String
    let style: Style

    /// - Parameter text: Anything; what could disturb a terminal is escaped.
    init(_ text: String, _ style: Style = .plain) {
      self.text = displayName(text)
      self.style = style
    }

    /// - Parameter sentence: A message for people, whose quotes stay as they are.
    init(sentence: String) {
      text = singleLine(sentence)
      style = .plain
    }
  }

  private static let gap = 2
  /// The least width of a flexible column, in characters.
  private static let leastWidth = 8

  var columns: [Column]
  /// Each row has a cell for each column.
  var rows: [[Cell]] = []

  /// - Parameter width: The terminal's; nil never cuts.
  func lines(width: Int?, usesColor: Bool) -> [String] {
    let header = columns.map { Cell($0.title, .title) }
    let widths = fittingWidths(header, width: width)
    return ([header] + rows).map { row in
      var line = ""
      for (index, cell) in row.enumerated() {
        let text = columns[index].keepsEnd ? cell.text.cutInMiddle(to: widths[index]) : cell.text.cut(to: widths[index])
        line += cell.style.applied(to: text, usesColor: usesColor)
        // No blanks at the end of lines.
        let isLast = row[(index + 1)...].allSatisfy(\.text.isEmpty)
        if isLast { break }
        line += String(repeating: " ", count: widths[index] - text.columns + Self.gap)
      }
      return line
    }
  }

  private func fittingWidths(_ header: [Cell], width: Int?) -> [Int] {
    var widths = columns.indices.map { index in
      rows.reduce(header[index].text.columns) { max($0, $1[index].text.columns) }
    }
    guard let width else { return widths }
    var excess = widths.reduce(0, +) + Self.gap * (columns.count - 1) - width
    while excess > 0 {
      let candidates = columns.indices.filter { columns[$0].isFlexible && widths[$0] > Self.leastWidth }
      guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }
}

extension String {
  /// The text in lines of at most `width` characters, broken at blanks; a longer word, such as a path, stays whole.
  func broken(at width: Int) -> [String] {
    var lines: [String] = []
    var line = Substring(self)
    while line.count > width {
      let end = line.prefix(width + 1).lastIndex(of: " ") ?? line.firstIndex(of: " ")
      guard let end, line[..<end].contains(where: { $0 != " " }) else { break }
      lines.append(String(line[..<end]))
      line = line[line.index(after: end)...]
    }
    return lines + [String(line)]
  }
}

/// Names and values below each other. Foreign text in values is made safe here.
struct FieldList {
  private var fields: [(name: String, lines: [String], style: Style)] = []
  /// The least width of values; narrower terminals break their lines themselves.
  private static let leastWidth = 20

  /// Adds a field unless there is no value.
  ///
  /// - Parameter value: Anything; what could disturb a terminal is escaped, quotation marks and backslashes stay.
  mutating func add(_ name: String, _ value: String?, style: Style = .plain) {
    if let value { fields.append((name, [singleLine(value)], style)) }
  }

  /// Adds a field with several lines.
  mutating func add(_ name: String, lines: [String]) {
    fields.append((name, lines.map { singleLine($0) }, .plain))
  }

  /// - Parameter width: The terminal's, at which values go on in the next line; nil never breaks one.
  func lines(width: Int?, usesColor: Bool) -> [String] {
    let nameWidth = fields.map(\.name.count).max() ?? 0
    let valueWidth = width.map { max(Self.leastWidth, $0 - nameWidth - 2) }
    return fields.flatMap { field in
      let values = field.lines.flatMap { line in valueWidth.map { line.broken(at: $0) } ?? [line] }
      return values.enumerated().map { index, value in
        let name = index == 0 ? field.name : ""
        return Style.title.applied(to: name, usesColor: usesColor)
          + String(repeating: " ", count: nameWidth - name.count + 2)
          + field.style.applied(to: value, usesColor: usesColor)
      }
    }
  }
}

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
