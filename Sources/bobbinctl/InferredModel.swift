import Foundation
import JSONText
import RecordInput

/// A model with one entity for an input, and a job that imports the input into it.
struct InferredModel {
  struct Attribute {
    /// In the input; nil if columns have no names of their own.
    let column: String?
    let name: String
    let type: GuessedType
    let isOptional: Bool
    let spelling: ValueSpelling

    /// The column's value in the job file.
    fileprivate var mapping: JSONValue {
      if spelling == .usual { return .string(name) }
      var object: JSONObject = ["attribute": .string(name)]
      for (key, value) in spelling.keys { object[key] = .string(value) }
      return .object(object)
    }
  }

  let entity: String
  let attributes: [Attribute]
  private let isByPosition: Bool

  /// - Parameter names: Of the columns.
  init(entity: String, _ table: TableGuess, hasKeys: Bool) {
    self.entity = entity
    // Columns whose names are missing or repeated can't be named.
    let names = table.names ?? []
    isByPosition = !hasKeys && (names.count != table.columns.count || Set(names).count != names.count)
    let parents = Set(names.flatMap(Self.parents))
    var shown: [(String?, ColumnGuess)] = []
    for (index, guess) in table.columns.enumerated() {
      let name = index < names.count ? names[index] : nil
      // A key that is null or an object is covered by the keys of the object.
      if hasKeys, let name, guess.valueCount == 0, parents.contains(name) { continue }
      shown.append((name, guess))
    }
    let attributeNames = ModelNames.attributes(shown.map { $0.0 ?? "" })
    attributes = zip(shown, attributeNames).map { column, name in
      Attribute(
        column: column.0, name: name, type: column.1.type, isOptional: column.1.isOptional(records: table.records),
        spelling: column.1.spelling)
    }
  }

  private static func parents(of name: String) -> [String] {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return (1..<max(parts.count, 1)).map { parts.prefix($0).joined(separator: ".") }
  }

  /// The text of `contents` in an `.xcdatamodel`.
  var contents: String {
    let lines = attributes.map { attribute in
      let optional = attribute.isOptional ? " optional=\"YES\"" : ""
      let scalar = Self.scalars.contains(attribute.type) ? " usesScalarValueType=\"YES\"" : ""
      return
        "        <attribute name=\"\(attribute.name)\"\(optional) attributeType=\"\(attribute.type.rawValue)\"\(scalar)/>\n"
    }
    return """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
          <entity name="\(entity)" representedClassName="\(entity)" syncable="YES">
      \(lines.joined())    </entity>
      </model>

      """
  }

  private static let scalars: Set<GuessedType> = [.integer16, .integer32, .integer64, .double, .boolean]

  /// The job file; it states how the input is written, so that nothing is left to guessing.
  func job(input: String, form: InputForm, options: InputOptions, table: TableGuess) -> JSONValue {
    var arguments: JSONObject = ["input": .string(input), "entity": .string(entity)]
    arguments["format"] = .string(form.format.rawValue)
    arguments["compression"] = .string(form.compression.rawValue)
    arguments["encoding"] = .string(form.encoding.name)
    if form.isDelimited {
      arguments["separator"] = .string(Self.text(form.dialect.separator))
      arguments["quote"] = form.dialect.quote.map { .string(Self.text($0)) } ?? .null
      arguments["header"] = .bool(form.hasHeader)
      if let comment = form.dialect.comment { arguments["comment"] = .string(Self.text(comment)) }
      if options.strayQuotes != .error { arguments["strayQuotes"] = .string(options.strayQuotes.rawValue) }
    } else if !form.path.isEmpty {
      arguments["records"] = .string(form.path.joined(separator: "."))
    }
    if options.skipLines > 0 { arguments["skipLines"] = .integer(Int64(options.skipLines)) }
    if table.hasShortRecords || options.raggedRows.cuts {
      arguments["raggedRows"] = .string(options.raggedRows.rawValue)
    }
    arguments["columns"] = columns
    return .object(["type": "import", "arguments": .object(arguments)])
  }

  private var columns: JSONValue {
    if isByPosition { return .array(attributes.map(\.mapping)) }
    var columns: JSONObject = [:]
    for attribute in attributes { columns[attribute.column ?? ""] = attribute.mapping }
    return .object(columns)
  }

  private static func text(_ byte: UInt8) -> String { String(Character(Unicode.Scalar(byte))) }
}

/// Names for entities and attributes, made of what a file and its columns are called.
enum ModelNames {
  /// Entities that the daemon has already.
  static let taken: Set<String> = ["Job", "Attempt", "Pause", "Image", "ImageBlob", "ImportState", "ImportReject"]

  private static let endings: Set<String> = [
    "csv", "tsv", "tab", "txt", "json", "ndjson", "jsonl", "gz", "zst", "gzip", "zstd", "dat", "data",
  ]

  /// `Sales_2024-q1.csv.gz` becomes `Sales2024Q1`; of a file without Latin letters, `Record`.
  static func entity(_ file: String) -> String {
    var parts = (file as NSString).lastPathComponent.split(separator: ".")
    while parts.count > 1, let last = parts.last, endings.contains(last.lowercased()) { parts.removeLast() }
    var name = words(parts.joined(separator: " ")).map(capitalized).joined()
    if name.isEmpty { name = "Record" }
    if !name.first!.isLetter { name = "Record" + name }
    return taken.contains(name) ? name + "Record" : name
  }

  /// True if an entity can be called so.
  static func isEntity(_ name: String) -> Bool {
    name.utf8.first.map { (0x41...0x5A).contains($0) } == true && !taken.contains(name)
      && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
  }

  /// A name for each column, no two alike even without regard to case, as in a table.
  static func attributes(_ columns: [String]) -> [String] {
    var used: Set<String> = []
    return columns.enumerated().map { index, column in
      var name = attribute(column)
      if name.isEmpty { name = "column\(index + 1)" }
      if !name.first!.isLetter { name = "column" + name }
      let base = name
      var number = 2
      while !used.insert(name.lowercased()).inserted {
        name = base + "\(number)"
        number += 1
      }
      return name
    }
  }

  /// `Organization Name` and `organization_name` become `organizationName`, `ID` becomes `id`.
  private static func attribute(_ column: String) -> String {
    let words = words(column)
    guard let first = words.first else { return "" }
    let lower = first == first.uppercased() ? first.lowercased() : first.prefix(1).lowercased() + first.dropFirst()
    return ([lower] + words.dropFirst().map(capitalized)).joined()
  }

  private static func capitalized(_ word: String) -> String { word.prefix(1).uppercased() + word.dropFirst() }

  /// The runs of ASCII letters and digits, once accents are off.
  private static func words(_ text: String) -> [String] {
    text.replacing("ß", with: "ss").replacing("æ", with: "ae").replacing("ø", with: "o")
      .decomposedStringWithCanonicalMapping.unicodeScalars
      .filter { !(0x300...0x36F).contains($0.value) }
      .split { !($0.isASCII && ($0.properties.isAlphabetic || (0x30...0x39).contains($0.value))) }
      .map { String(String.UnicodeScalarView($0)) }
  }
}
