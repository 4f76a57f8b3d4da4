/// A kind of file that people take for a job file, told by its first bytes.
package enum ForeignFile {
  /// The bytes that are enough to tell.
  package static let prefixLength = 12

  /// The kind of a file with these first bytes, as "a JPEG picture"; nil for any that may be text.
  package static func kind(of start: some Collection<UInt8>) -> String? {
    let start = Array(start.prefix(prefixLength))
    if start.starts(with: "RIFF".utf8), start.dropFirst(8).elementsEqual("WEBP".utf8) { return "a WebP picture" }
    if start.dropFirst(4).starts(with: "ftyp".utf8) { return "a picture or a film" }
    return signatures.first { start.starts(with: $0.bytes) }?.kind
  }

  private static let signatures: [(bytes: [UInt8], kind: String)] = [
    ([0xFF, 0xD8, 0xFF], "a JPEG picture"),
    ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A], "a PNG picture"),
    (Array("GIF8".utf8), "a GIF picture"),
    ([0x49, 0x49, 0x2A, 0x00], "a TIFF picture"),
    ([0x4D, 0x4D, 0x00, 0x2A], "a TIFF picture"),
    (Array("%PDF-".utf8), "a PDF document"),
    ([0x50, 0x4B, 0x03, 0x04], "a zip archive or an office document"),
    ([0x1F, 0x8B], "packed with gzip"),
    ([0x28, 0xB5, 0x2F, 0xFD], "packed with zstd"),
  ]

  /// True for a text that is no JSON from its first character on, with a first line of fields.
  package static func isTable(_ text: some Collection<UInt8>) -> Bool {
    let line = text.prefix(4_096).prefix { $0 != UInt8(ascii: "\n") }
    guard let first = line.first, !"{[/#".utf8.contains(first) else { return false }
    return line.contains { ",;\t|".utf8.contains($0) }
  }

  /// The reason for which such a file is refused as a job file.
  package static let tableRefusal =
    "it looks like a table, not a job file; `bobbinctl import` imports it, or drop it into a hot folder (man bobbin-folder)"

  package static func refusal(_ kind: String) -> String {
    "it is \(kind), not a job file; write a job file that names it as input, or drop it into a hot folder "
      + "(man bobbin-folder)"
  }
}
