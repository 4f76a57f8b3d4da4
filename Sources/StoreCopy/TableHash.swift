internal import CCrypto

/// The SHA-256 of a table's rows, or of one row.
final class TableHash {
  private let context: OpaquePointer?

  init() {
    context = EVP_MD_CTX_new()
    precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "libcrypto has no SHA-256")
  }

  deinit { EVP_MD_CTX_free(context) }

  func add(_ bytes: UnsafeRawBufferPointer) {
    if let base = bytes.baseAddress { EVP_DigestUpdate(context, base, bytes.count) }
  }

  /// The hash of everything so far; nothing can be added afterwards.
  func finish() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    EVP_DigestFinal_ex(context, &digest, nil)
    return digest
  }
}
