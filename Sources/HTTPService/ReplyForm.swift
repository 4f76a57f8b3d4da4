internal import CZlib
import Foundation

/// The form in which the client of a request wants its reply: packed, or not at all if it has it already.
///
/// The tag is weak, since a packed body has other bytes than a plain one. Replies stay out of caches all the same; a program
/// that asks again and again keeps the tag itself.
struct ReplyForm: Sendable {
  /// Smaller bodies are not worth it.
  private static let smallestPacked = 1 << 10
  private static let packedTypes = [
    "application/json", "application/x-ndjson", "application/openmetrics-text", "text/",
  ]

  private let isGet: Bool
  private let knownTags: String?
  private let takesGzip: Bool

  init(_ method: HTTPMethod, _ headers: HTTPHeaders) {
    isGet = method == .get || method == .head
    knownTags = headers["If-None-Match"]
    takesGzip = Self.takesGzip(headers.values(of: "Accept-Encoding").joined(separator: ","))
  }

  /// Brings a reply into this form. Cost: a pass over its body, and packing it if that is wanted.
  func apply(to response: HTTPResponse) -> HTTPResponse {
    var response = response
    if isGet, response.status == 200 {
      let tag = response.headers["ETag"] ?? Self.tag(of: response.body)
      response.headers["ETag"] = tag
      if knows(tag) { return HTTPResponse(status: 304, headers: ["ETag": tag]) }
    }
    let type = response.headers["Content-Type"] ?? ""
    guard response.body.count > Self.smallestPacked, Self.packedTypes.contains(where: type.hasPrefix),
      response.headers["Content-Encoding"] == nil
    else { return response }
    response.headers["Vary"] = "Accept-Encoding"
    guard takesGzip, let packed = Self.packed(response.body) else { return response }
    response.headers["Content-Encoding"] = "gzip"
    response.body = packed
    return response
  }

  private func knows(_ tag: String) -> Bool {
    guard let knownTags else { return false }
    let opaque = Self.opaque(tag[...])
    return knownTags.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      .contains { $0 == "*" || Self.opaque($0[...]) == opaque }
  }

  /// A tag without the mark of a weak one, which does not matter here.
  private static func opaque(_ tag: Substring) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag }

  private static func tag(of body: Data) -> String {
    let (first, second) = body.withUnsafeBytes { bytes in
      let bytes = bytes.assumingMemoryBound(to: UInt8.self)
      return (crc32_z(0, bytes.baseAddress, bytes.count), adler32_z(1, bytes.baseAddress, bytes.count))
    }
    return "W/\"\(String(first, radix: 36))-\(String(second, radix: 36))-\(String(body.count, radix: 36))\""
  }

  /// True if the codings that a client takes, with their weights, have gzip (RFC 9110, section 12.5.3).
  private static func takesGzip(_ codings: String) -> Bool {
    var others = false
    for coding in codings.lowercased().split(separator: ",") {
      let parts = coding.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
      let isRefused = parts.dropFirst().contains { $0.wholeMatch(of: /q=0(\.0*)?/) != nil }
      if parts.first == "gzip" { return !isRefused }
      if parts.first == "*" { others = !isRefused }
    }
    return others
  }

  /// The body as one member of gzip; nil without memory, where the plain one does.
  private static func packed(_ body: Data) -> Data? {
    var stream = z_stream()
    // The fastest level; 16 more bits of the window ask for gzip's header.
    guard
      deflateInit2_(
        &stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        == Z_OK
    else { return nil }
    defer { deflateEnd(&stream) }
    guard let size = UInt32(exactly: body.count) else { return nil }
    var packed = Data(count: Int(deflateBound(&stream, UInt(size))))
    let end = body.withUnsafeBytes { source in
      packed.withUnsafeMutableBytes { target in
        stream.next_in = UnsafeMutablePointer(mutating: source.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.avail_in = size
        stream.next_out = target.assumingMemoryBound(to: UInt8.self).baseAddress
        stream.avail_out = UInt32(clamping: target.count)
        return deflate(&stream, Z_FINISH)
      }
    }
    guard end == Z_STREAM_END else { return nil }
    return packed.prefix(Int(stream.total_out))
  }
}
