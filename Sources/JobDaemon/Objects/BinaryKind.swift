import Foundation

/// The media type of binary values, by their first bytes: a picture that browsers show, or just bytes.
enum BinaryKind {
  static let unknown = "application/octet-stream"
  /// The bytes that are looked at.
  static let signatureLength = 16

  /// Never a type that could carry a script, such as SVG or HTML.
  static func mediaType(of start: some Collection<UInt8>) -> String {
    let start = Array(start.prefix(signatureLength))
    func has(_ signature: [UInt8], at offset: Int = 0) -> Bool { start.dropFirst(offset).starts(with: signature) }
    if has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
    if has([0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if has(Array("GIF8".utf8)) { return "image/gif" }
    if has(Array("RIFF".utf8)), has(Array("WEBP".utf8), at: 8) { return "image/webp" }
    if has(Array("II*\0".utf8)) || has(Array("MM\0*".utf8)) { return "image/tiff" }
    if has(Array("ftyp".utf8), at: 4) {
      if has(Array("avif".utf8), at: 8) || has(Array("avis".utf8), at: 8) { return "image/avif" }
      if has(Array("heic".utf8), at: 8) || has(Array("mif1".utf8), at: 8) { return "image/heic" }
    }
    return unknown
  }
}
