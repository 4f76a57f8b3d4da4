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
    takesGzip = headers.takeGzip
  }

  /// Brings a reply into this form; one whose body comes bit by bit stays as it is, as nobody knows its body yet.
  ///
  /// Cost: a pass over its body, and packing it if that is wanted.
  func apply(to response: HTTPResponse) -> HTTPResponse {
    if response.source != nil { return response }
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
    guard takesGzip, let stream = GzipStream() else { return response }
    response.headers["Content-Encoding"] = "gzip"
    response.body = stream.pack(response.body, isLast: true)
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
}
