import Foundation

/// What a client got.
struct Reply: Sendable, Equatable {
  let status: Int
  let body: Data

  var text: String { String(decoding: body, as: UTF8.self) }

  /// The code of an error document.
  var errorCode: String? {
    let document = try? JSONSerialization.jsonObject(with: body) as? [String: [String: String]]
    return document?["error"]?["code"]
  }
}
