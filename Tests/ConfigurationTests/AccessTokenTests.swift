import Testing

@testable import Configuration

@Suite("Tokens")
struct AccessTokenTests {
  @Test("A line that is made is read again, and only its own secret matches", arguments: AccessRole.allCases)
  func line(role: AccessRole) throws {
    let (secret, made) = AccessToken.make("ci", role, user: role == .read ? nil : "anna")
    let other = AccessToken.make("ci", role, user: nil).secret
    let tokens = try AccessToken.parse("# a comment\n\n\(made.line)\n", file: "tokens")
    #expect(tokens == [made])
    #expect(made.line.hasPrefix("ci \(role.rawValue) sha256:") && !made.line.contains(secret.dropFirst(7)))
    let hash = try #require(AccessToken.hash(ofSecret: secret))
    #expect(tokens[0].matches(hash))
    #expect(!tokens[0].matches(try #require(AccessToken.hash(ofSecret: other))))
    #expect(secret.hasPrefix("bobbin_") && secret.utf8.count == 71)
  }

  @Test(
    "What is no token of ours is not even hashed: a password in the file lets nobody in",
    arguments: [
      "", "secret", "bobbin_", "bobbin_0", "BOBBIN_" + String(repeating: "0", count: 64),
      "bobbin_" + String(repeating: "é", count: 32),
    ])
  func others(secret: String) { #expect(AccessToken.hash(ofSecret: secret) == nil) }

  @Test("All mistakes are told with their lines, and none shows what may be a secret")
  func mistakes() throws {
    let hash = "sha256:" + String(repeating: "a", count: 64)
    let text = """
      ci submit
      c/i submit \(hash)
      ci admin \(hash)
      ci submit secret
      ci submit sha256:\(String(repeating: "g", count: 64))
      ci submit \(hash)0
      ci submit \(hash)
      ci read \(hash)
      x read \(hash) anna more
      """
    let error = #expect(throws: ConfigurationError.self) { try AccessToken.parse(text, file: "tokens") }
    #expect(error?.problems.map(\.line) == [1, 2, 3, 4, 5, 6, 8, 9])
    #expect(error?.problems[6].message == "there is a token ci above")
    #expect(error?.description.contains("secret") == false)
  }
}
