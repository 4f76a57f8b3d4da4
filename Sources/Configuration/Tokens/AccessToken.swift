internal import CCrypto
import TextSupport

/// A role of the owner of a token, which says what that one may do; each includes those before it.
package enum AccessRole: String, CaseIterable, Comparable, Sendable {
  case read, submit, control

  package static func < (left: AccessRole, right: AccessRole) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .read: 0
    case .submit: 1
    case .control: 2
    }
  }
}

/// A token for requests over TCP, as the file of tokens has it: a name, a role and a hash, never the token itself.
package struct AccessToken: Sendable, Equatable {
  package let name: String
  package let role: AccessRole
  /// The name or number of the user whose rights the jobs have that are submitted with it; nil for those of everybody.
  package let user: String?
  private let hash: [UInt8]

  // Scanners for secrets find it in a repository or a log by this.
  private static let prefix = "bobbin_"
  private static let hashPrefix = "sha256:"
  private static let byteCount = 32

  /// Makes a token of 256 random bits, and what the file needs of it.
  package static func make(_ name: String, _ role: AccessRole, user: String?) -> (secret: String, entry: AccessToken) {
    var generator = SystemRandomNumberGenerator()
    let secret = prefix + text((0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    return (secret, AccessToken(name: name, role: role, user: user, hash: hash(of: secret)))
  }

  /// True if this is the token's secret; it takes the same time whatever the secret is.
  package func matches(_ hash: [UInt8]) -> Bool { CRYPTO_memcmp(hash, self.hash, self.hash.count) == 0 }

  /// The hash of what a client has shown as a secret; nil if that can't be one.
  ///
  /// A token is 256 random bits, which nobody can guess or go through, so that one round of SHA-256 without salt is
  /// enough: what makes hashes of passwords slow would only make each request slow. That holds for tokens of this form
  /// alone, so a hash of anything else, such as a password that somebody put into the file, matches nothing.
  package static func hash(ofSecret secret: String) -> [UInt8]? {
    let digits = secret.utf8.dropFirst(prefix.utf8.count)
    guard secret.hasPrefix(prefix), digits.count == 2 * byteCount, digits.allSatisfy({ digit($0) != nil }) else {
      return nil
    }
    return hash(of: secret)
  }

  private static func hash(of secret: String) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: byteCount)
    let bytes = Array(secret.utf8)
    precondition(EVP_Digest(bytes, bytes.count, &hash, nil, EVP_sha256(), nil) == 1, "libcrypto has no SHA-256")
    return hash
  }

  private static func text(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}

extension AccessToken {
  /// The line of the file.
  package var line: String {
    ([name, role.rawValue, Self.hashPrefix + Self.text(hash)] + (user.map { [$0] } ?? [])).joined(separator: " ")
  }

  package static let nameRule = "a name of up to 100 letters, digits, dots, hyphens and underscores"

  package static func isName(_ text: String) -> Bool { ValueFormat<String>.jobType.parse(text) != nil }

  /// Reads a file of tokens, which may be missing.
  ///
  /// - Throws: ``ConfigurationError`` with all problems in it.
  package static func load(_ path: String) throws(ConfigurationError) -> [AccessToken] {
    let text: [UInt8]?
    do throws(ConfigurationProblem) { text = try ConfigurationFile.contents(of: path) } catch {
      throw ConfigurationError(problems: [error])
    }
    return try text.map { (text) throws(ConfigurationError) in
      try parse(String(decoding: text, as: UTF8.self), file: path)
    } ?? []
  }

  static func parse(_ text: String, file: String) throws(ConfigurationError) -> [AccessToken] {
    var tokens: [AccessToken] = []
    var problems: [ConfigurationProblem] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let fields = line.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let first = fields.first, !first.hasPrefix("#") else { continue }
      do throws(Mistake) {
        let token = try AccessToken(fields: fields)
        if tokens.contains(where: { $0.name == token.name }) { throw Mistake("there is a token \(token.name) above") }
        tokens.append(token)
      } catch {
        problems.append(
          ConfigurationProblem(code: .invalidValue, file: file, line: index + 1, message: error.message))
      }
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return tokens
  }

  private struct Mistake: Error {
    let message: String
    init(_ message: String) { self.message = message }
  }

  private init(fields: [String]) throws(Mistake) {
    // What is wrong is not quoted: it may be the token itself.
    guard (3...4).contains(fields.count) else {
      throw Mistake("expected NAME ROLE HASH [USER], as \"bobbinctl token NAME ROLE\" prints it")
    }
    guard Self.isName(fields[0]) else { throw Mistake("expected \(Self.nameRule) as the first word") }
    guard let role = AccessRole(rawValue: fields[1]) else {
      throw Mistake("expected one of \(AccessRole.allCases.map(\.rawValue).joined(separator: ", ")) as the second word")
    }
    let digits = fields[2].utf8.dropFirst(Self.hashPrefix.utf8.count).compactMap(Self.digit)
    guard fields[2].hasPrefix(Self.hashPrefix), digits.count == 2 * Self.byteCount,
      fields[2].utf8.count == Self.hashPrefix.utf8.count + digits.count
    else {
      throw Mistake("expected sha256: and 64 digits as the third word; the token itself does not belong here")
    }
    (name, self.role) = (fields[0], role)
    user = fields.count == 4 ? fields[3] : nil
    hash = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
