import ObjectModel

/// The spelling of the model's names in Swift, and the names that Swift or the object graph reserves.
struct SwiftNames {
  /// The names that the generated file declares: types, and properties, which hide types in a class.
  private let declared: Set<String>

  init(declared: Set<String>) { self.declared = declared }

  /// A type of a library, with its module if the file declares a type of the same name.
  func library(_ type: String) -> String {
    guard declared.contains(type) else { return type }
    let module = Self.moduleOfType[type] ?? "Swift"
    return "\(module).\(type)"
  }

  /// A name as it is declared, in backticks if it is a keyword.
  static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  /// A text as a Swift string literal.
  static func literal(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": literal += "\\\""
      case "\\": literal += "\\\\"
      case "\n": literal += "\\n"
      case "\r": literal += "\\r"
      case "\t": literal += "\\t"
      case _ where scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value):
        literal += "\\u{\(String(scalar.value, radix: 16))}"
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }

  static func isIdentifier(_ name: String) -> Bool {
    name.first.map { $0.isLetter || $0 == "_" } == true && name != "_"
      && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
  }

  /// Names of properties that every managed object has; a property of an entity can't have them in Swift.
  static let reservedProperties: Set<String> = [
    "Type", "Protocol", "awakeFromFetch", "awakeFromInsert", "changedValues", "changedValuesForCurrentEvent",
    "context", "debugDescription", "description", "didSave", "didTurnIntoFault", "entity", "entityName", "hasChanges",
    "hasPersistentChangedValues", "hashValue", "isDeleted", "isFault", "isGenerated", "isInserted", "isUpdated",
    "managedObjectContext", "objectID", "prepareForDeletion", "propertyNamesByKeyPath", "self", "validateForDelete",
    "validateForInsert", "validateForUpdate", "willSave", "willTurnIntoFault",
  ]

  /// Names of types that the generated code or the language needs for itself.
  static let reservedClasses: Set<String> = [
    "Any", "Foundation", "ManagedObject", "ObjectGraph", "ObjectModel", "Protocol", "Self", "Swift", "Type",
  ]

  private static let moduleOfType = [
    "Blob": "ObjectGraph", "Data": "Foundation", "Date": "Foundation", "Decimal": "Foundation",
    "ManagedObjectModel": "ObjectModel", "URL": "Foundation", "UUID": "Foundation",
  ]

  /// The Swift book, "Lexical Structure": the words that are reserved everywhere.
  private static let keywords: Set<String> = [
    "Any", "Self", "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit",
    "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
    "in", "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol",
    "public", "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super", "switch", "throw",
    "throws", "true", "try", "typealias", "var", "where", "while",
  ]
}

/// Swift source under construction, two spaces a level, as `swift format` would leave it.
struct SourceText {
  private(set) var text = ""
  private var level = 0

  mutating func add(_ line: String) {
    text += line.isEmpty ? "\n" : indentation + line + "\n"
  }

  mutating func indented(_ body: (inout SourceText) -> Void) {
    level += 1
    body(&self)
    level -= 1
  }

  /// Adds a comment of as many lines as the text has.
  mutating func add(comment: String) {
    for line in comment.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      add(line.isEmpty ? "///" : "/// " + line)
    }
  }

  /// Adds a dictionary literal, one pair a line; `prefix` is what comes before its bracket.
  mutating func add(prefix: String = "", list: [(key: String, value: String)]) {
    guard !list.isEmpty else { return add(prefix + "[:]") }
    add(prefix + "[")
    indented { source in
      // The formatter wants a comma after the last of several elements, and none after a single one.
      for pair in list { source.add("\(pair.key): \(pair.value)" + (list.count > 1 ? "," : "")) }
    }
    add("]")
  }

  /// Ends the line just added with a raw string literal of several lines.
  mutating func append(rawString string: String) {
    // As many signs as it takes for nothing in the text to end the literal or to begin an interpolation.
    var fence = "#"
    while string.contains("\"\"\"" + fence) || string.contains("\\" + fence) { fence += "#" }
    text.removeLast()
    text += fence + "\"\"\"\n"
    indented { source in
      // XML reads every line end as a line feed; a byte order mark has done its work when the text was decoded.
      let text = string.drop { $0 == "\u{feff}" }
      for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isLineEnd) { source.add(String(line)) }
      source.add("\"\"\"" + fence)
    }
  }

  private var indentation: String { String(repeating: "  ", count: level) }
}

extension Character {
  fileprivate var isLineEnd: Bool { self == "\n" || self == "\r\n" || self == "\r" }
}

/// The access level of generated code.
enum AccessLevel: String {
  case `public`, `internal`

  /// The modifier of a declaration, with the space after it.
  var modifier: String { self == .public ? "public " : "" }
  /// The modifier of what may be subclassed or overridden.
  var openModifier: String { self == .public ? "open " : "" }
}
