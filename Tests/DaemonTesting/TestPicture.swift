package import Foundation
import SystemSupport
import TestSupport

/// Pictures for the tests: a photograph made small, and what is wrong with files that only look like one.
package enum TestPicture {
  /// A photograph of a Debian package, 96 pixels wide; made once.
  package static func jpeg() async throws -> Data { try await shared.value }

  private static let shared = Task {
    let folder = try TemporaryDirectory()
    let photograph = "/usr/share/backgrounds/mate/nature/Garden.jpg"
    let tool = try await Tool.run("/usr/bin/vips", ["thumbnail", photograph, folder.path("small.jpg"), "96"])
    if tool.code != 0 { throw SystemError(.invalidArgument, call: "vips thumbnail", subject: tool.errors) }
    return try Data(contentsOf: folder.url.appending(path: "small.jpg"))
  }

  /// A PNG file whose header claims a size, followed by a few bytes of pixels.
  package static func pngClaiming(width: UInt32, height: UInt32) -> Data {
    let header = bytes(width) + bytes(height) + [8, 2, 0, 0, 0]
    let pixels: [UInt8] = [0x78, 0x9C, 0x03, 0, 0, 0, 0, 1]
    return Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
      + Data(chunk("IHDR", header) + chunk("IDAT", pixels) + chunk("IEND", []))
  }

  /// Whether a file is a PNG file from its signature to its end.
  package static func isWholePNG(_ path: String) throws -> Bool {
    let data = try Data(contentsOf: URL(filePath: path))
    return data.starts(with: [0x89, 0x50, 0x4E, 0x47]) && data.suffix(12) == Data(chunk("IEND", []))
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + content
    return bytes(UInt32(content.count)) + body + bytes(checksum(body))
  }

  private static func bytes(_ number: UInt32) -> [UInt8] {
    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// CRC-32 as annex D of the PNG specification defines it.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
    }
  }
}
