import Foundation
import ObjectModel
import TestSupport
import Testing

@Suite("Hostile model files")
struct HostileModelTests {
  @Test("Nested XML entities are refused at once instead of expanded")
  func billionLaughs() async throws {
    var declarations = "<!ENTITY e0 \"ha\">"
    for level in 1...30 {
      declarations += "<!ENTITY e\(level) \"" + String(repeating: "&e\(level - 1);", count: 10) + "\">"
    }
    let xml = Data("<?xml version=\"1.0\"?>\n<!DOCTYPE model [\(declarations)]><model>&e30;</model>".utf8)
    let error = try await withTimeout(seconds: 10) { modelError(xml: xml) }
    #expect(error?.code == .malformed)
    #expect(error?.line == 2)
  }

  @Test(
    "A file that the model names as an external entity is never opened",
    arguments: [
      "<!DOCTYPE model SYSTEM \"FILE\"><model/>",
      "<!DOCTYPE model [<!ENTITY x SYSTEM \"FILE\">]><model>&x;</model>",
      "<!DOCTYPE model [<!ENTITY % x SYSTEM \"FILE\"> %x;]><model/>",
      // Spelled so that a look at the bytes does not find the declaration.
      "<?xml version=\"1.0\" encoding=\"UTF-7\"?>+ADwAIQ-DOCTYPE model [<!ENTITY x SYSTEM \"FILE\">]><model>&x;</model>",
    ])
  func externalEntities(text: String) async throws {
    let directory = try TemporaryDirectory()
    // Opening a pipe that nobody writes to waits for ever, so a reader that opened it would run into the timeout.
    try #require(mkfifo(directory.path("pipe"), 0o600) == 0)
    let xml = Data(text.replacing("FILE", with: "file://" + directory.path("pipe")).utf8)
    let error = try await withTimeout(seconds: 10) { modelError(xml: xml) }
    #expect(error?.code == .malformed)
  }

  @Test("Elements nested beyond all measure are an error")
  func deepElements() {
    let text = String(repeating: "<a>", count: 100_000) + String(repeating: "</a>", count: 100_000)
    #expect(modelError(text)?.code == .malformed)
  }

  @Test("Random damage to a model yields a model or an error, never a crash", arguments: 0..<20)
  func damage(seed: Int) throws {
    let sound = Array(
      modelXML(
        """
        <entity name="Team" parentEntity="Thing" isAbstract="YES"><attribute name="n" attributeType="Decimal"
        defaultValueString="1.5"/><relationship name="m" toMany="YES" destinationEntity="Team" inverseName="m"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="n"/></uniquenessConstraint>
        </uniquenessConstraints><userInfo><entry key="k" value="v"/></userInfo></entity><entity name="Thing"/>
        """))
    var random = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1
    func next(_ bound: Int) -> Int {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      return Int(random % UInt64(bound))
    }
    var refused = 0
    for _ in 0..<100 {
      var bytes = sound
      switch next(3) {
      case 0: bytes[next(bytes.count)] = UInt8(next(256))
      case 1: bytes.removeSubrange(next(bytes.count)...)
      default:
        let start = next(bytes.count)
        bytes.removeSubrange(start..<min(bytes.count, start + next(40)))
      }
      guard let error = modelError(xml: Data(bytes)) else { continue }
      refused += 1
      #expect(error.file == "M/contents")
    }
    #expect(refused > 0)
  }
}
