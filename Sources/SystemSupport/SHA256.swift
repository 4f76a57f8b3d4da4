internal import CCrypto

/// The SHA-256 of bytes that come piece by piece, by OpenSSL.
package final class SHA256 {
  /// The bytes of a hash.
  package static let byteCount = 32

  private let context: OpaquePointer?

  package init() {
    context = EVP_MD_CTX_new()
    precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "libcrypto has no SHA-256")
  }

  deinit { EVP_MD_CTX_free(context) }

  package func add(_ bytes: UnsafeRawBufferPointer) {
    if let base = bytes.baseAddress { EVP_DigestUpdate(context, base, bytes.count) }
  }

  /// The hash of everything so far; nothing can be added afterwards.
  package func finish() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Self.byteCount)
    EVP_DigestFinal_ex(context, &digest, nil)
    return digest
  }

  /// A hash as digits of base 16.
  package static func digits(_ hash: [UInt8]) -> String {
    hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
