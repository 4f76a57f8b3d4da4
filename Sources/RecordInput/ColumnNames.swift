import Foundation

/// Names of attributes, made of what the columns of a table are called.
///
/// `bobbinctl model infer` gives attributes these names, and an import without `columns` goes by them.
package enum ColumnNames {
  /// A name for each column, no two alike even without regard to case, as in a table.
  package static func attributes(_ columns: [String]) -> [String] {
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

  /// The word with a capital first letter.
  package static func capitalized(_ word: String) -> String { word.prefix(1).uppercased() + word.dropFirst() }

  /// The runs of ASCII letters and digits, once accents are off.
  package static func words(_ text: String) -> [String] {
    text.replacing("ß", with: "ss").replacing("æ", with: "ae").replacing("ø", with: "o")
      .decomposedStringWithCanonicalMapping.unicodeScalars
      .filter { !(0x300...0x36F).contains($0.value) }
      .split { !($0.isASCII && ($0.properties.isAlphabetic || (0x30...0x39).contains($0.value))) }
      .map { String(String.UnicodeScalarView($0)) }
  }
}
