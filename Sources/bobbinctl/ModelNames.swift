import Foundation
import Jobs
import RecordInput

/// Names for entities, made of what a file is called, and for relationships; ``ColumnNames`` has those of attributes.
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
    var name = ColumnNames.words(parts.joined(separator: " ")).map(ColumnNames.capitalized).joined()
    if name.isEmpty { name = "Record" }
    if !name.first!.isLetter { name = "Record" + name }
    return taken.contains(name) ? name + "Record" : name
  }

  /// True if an entity can be called so.
  static func isEntity(_ name: String) -> Bool {
    name.utf8.first.map { (0x41...0x5A).contains($0) } == true && !taken.contains(name)
      && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
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
}
