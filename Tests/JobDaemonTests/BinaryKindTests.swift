import Testing

@testable import JobDaemon

@Suite("The media type of binary values")
struct BinaryKindTests {
  @Test("Pictures are known by their first bytes, and nothing else is")
  func kinds() {
    let kinds: [(start: [UInt8], type: String)] = [
      ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0], "image/png"), ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"),
      (Array("GIF89a".utf8), "image/gif"), (Array("RIFF....WEBPVP8".utf8), "image/webp"),
      (Array("....ftypavif".utf8), "image/avif"), (Array("II*\0".utf8), "image/tiff"),
      (Array("RIFF....WAVE".utf8), BinaryKind.unknown), (Array("<svg onload=alert(1)>".utf8), BinaryKind.unknown),
      (Array("<html>".utf8), BinaryKind.unknown), ([0x89, 0x50], BinaryKind.unknown), ([], BinaryKind.unknown),
    ]
    for (start, type) in kinds { #expect(BinaryKind.mediaType(of: start) == type) }
  }
}
