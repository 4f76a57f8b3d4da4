import TestSupport
import Testing

@testable import Configuration

@Suite("Reading lines with inih")
struct IniReaderTests {
  @Test("Of whatever text, each line that is neither blank nor a comment yields exactly one entry", arguments: 0..<20)
  func accountsForEveryLine(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let pieces: [[UInt8]] =
      ["[", "]", "=", ":", ";", "#", " ", "\t", "\r", "\0", "\\", "\"", "a", "é", "\u{FEFF}", "\n", "\n", "[Log]\n"]
      .map { Array($0.utf8) } + [[0xFF], Array(repeating: 0x78, count: 210)]
    for _ in 0..<500 {
      let count = Int.random(in: 0..<60, using: &generator)
      let text = (0..<count).flatMap { _ in pieces.randomElement(using: &generator) ?? [] }
      var meaningful: [Int] = []
      let content = text.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(text.dropFirst(3)) : text
      for (index, line) in content.split(separator: 10, omittingEmptySubsequences: false).enumerated() {
        guard let first = line.first(where: { ![9, 13, 32].contains($0) }) else { continue }
        if first != UInt8(ascii: "#"), first != UInt8(ascii: ";") { meaningful.append(index + 1) }
      }
      #expect(IniReader.entries(of: text).map(\.line) == meaningful, "\(text)")
    }
  }

  @Test("Keys and values come without the blanks around them, and keep those inside, signs and quotes included")
  func splits() {
    let text = "[Log]\n Key one = a = \"b\" : c;d # e \nEmpty=\n"
    #expect(
      IniReader.entries(of: Array(text.utf8)).map(\.content) == [
        .section("Log"), .assignment(section: "Log", key: "Key one", value: "a = \"b\" : c;d # e"),
        .assignment(section: "Log", key: "Empty", value: ""),
      ])
  }
}
