internal import CZlib
package import Foundation

/// A file of the page, as it is sent to browsers.
///
/// The files are in the folder `Files`, written by hand; the plugin EmbedPage puts their texts into this module.
package struct PageFile: Sendable {
  package let contentType: String
  package let body: Data
  /// The body as gzip packs it; nil without memory for that.
  package let packed: Data?
  /// The entity tag of the body, which tells its content (RFC 9110, section 8.8.3).
  package let tag: String

  private init(text: String, contentType: String) {
    self.contentType = contentType
    body = Data(text.utf8)
    packed = body.packed()
    tag = "\"\(String(body.hash, radix: 16))\""
  }

  /// The file at the root, which names all others.
  package static let index = "index.html"

  /// The files by name.
  package static let all: [String: PageFile] = texts.reduce(into: [:]) { files, file in
    files[file.key] = contentType(of: file.key).map { PageFile(text: file.value, contentType: $0) }
  }

  private static func contentType(of name: String) -> String? {
    switch name.split(separator: ".").last {
    case "html": "text/html; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    case "svg": "image/svg+xml"
    default: nil
    }
  }
}

extension Data {
  /// A 64-bit FNV-1a hash; http://www.isthe.com/chongo/tech/comp/fnv/
  fileprivate var hash: UInt64 {
    reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }

  /// The bytes in the gzip format (RFC 1952); nil without memory.
  fileprivate func packed() -> Data? {
    var stream = z_stream()
    // 16 more than the largest window asks for gzip's header.
    let version = ZLIB_VERSION
    guard
      deflateInit2_(
        &stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY, version,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { deflateEnd(&stream) }
    var packed = Data(count: Int(deflateBound(&stream, UInt(count))))
    let result = withUnsafeBytes { input in
      packed.withUnsafeMutableBytes { output in
        stream.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.avail_out = UInt32(output.count)
        return deflate(&stream, Z_FINISH)
      }
    }
    guard result == Z_STREAM_END else { return nil }
    return packed.prefix(Int(stream.total_out))
  }
}
