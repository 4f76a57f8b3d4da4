import Foundation
import StoreInterface

/// The table of large values: each in parts, under a random name that ends with its size in bytes.
///
/// Parts appear and go in the transaction that writes their row, so there is nothing to be swept. They are kept as they
/// are (`STORAGE EXTERNAL`): what is large enough to lie here is compressed already, as a rule.
struct LargeValues: Sendable {
  static let createSQL = [
    #"CREATE TABLE _file (name text COLLATE "C", part bigint, bytes bytea NOT NULL, PRIMARY KEY (name, part))"#,
    "ALTER TABLE _file ALTER COLUMN bytes SET STORAGE EXTERNAL",
  ]

  /// The bytes of a part; one larger than a page of the database lies in rows of two thousand bytes anyway.
  static let partSize = 256 * 1024

  private let spare: SpareConnection
  private let place: String

  init(_ spare: SpareConnection, place: String) {
    self.spare = spare
    self.place = place
  }

  /// The blob of a name that a column holds; its bytes are read when they are asked for.
  func blob(named name: String) -> Blob {
    let byteCount = name.split(separator: ".").last.flatMap { Int($0) } ?? 0
    return Blob(.remote(RemoteValue(name: name, byteCount: byteCount) { try read(name, byteCount) }))
  }

  private func read(_ name: String, _ byteCount: Int) throws(StoreError) -> Data {
    let data = try spare.lend { connection throws(StoreError) in
      let parts = try connection.query("SELECT bytes FROM _file WHERE name = $1 ORDER BY part", [.text(name)])
      var data = Data(capacity: byteCount)
      for part in 0..<parts.rowCount { data.append(contentsOf: parts.bytes(part, 0)) }
      return data
    }
    guard data.count == byteCount else {
      throw StoreError(
        .inputOutput,
        "a large value is not there any more; another save has replaced or deleted it: fetch the object "
          + "anew", path: place)
    }
    return data
  }

  static func newName(byteCount: Int) -> String { "\(UUID().uuidString.lowercased()).\(byteCount)" }

  /// Writes values under their names.
  static func write(_ values: [(name: String, bytes: Data)], _ connection: Connection) throws(StoreError) {
    if values.isEmpty { return }
    _ = try connection.copy("COPY _file (name, part, bytes) FROM STDIN (FORMAT binary)") {
      (writer) throws(StoreError) in
      for (name, bytes) in values {
        for (part, start) in stride(from: 0, to: bytes.count, by: partSize).enumerated() {
          let end = min(start + partSize, bytes.count)
          try writer.beginRow(3)
          writer.text(name)
          writer.integer(Int64(part))
          bytes[bytes.startIndex + start..<bytes.startIndex + end].withUnsafeBytes { writer.bytes($0) }
        }
      }
    }
  }
}
