import Foundation
import Jobs

/// Names for entities and attributes, made of what a file and its columns are called.
enum ModelNames {
  /// Entities that the daemon has already.
  static var taken: Set<String> { BuiltInModel.entityNames }

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

  /// The relationship that leads back to an entity: `persons` for `Person`.
  static func inverse(of entity: String, besides taken: [String]) -> String {
    let base = entity.prefix(1).lowercased() + entity.dropFirst() + (entity.hasSuffix("s") ? "" : "s")
    let used = Set(taken.map { $0.lowercased() })
    var name = base
    var number = 2
    while used.contains(name.lowercased()) {
      name = base + "\(number)"
      number += 1
    }
    return name
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
