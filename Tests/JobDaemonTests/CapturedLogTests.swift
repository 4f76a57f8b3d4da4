import Testing

import Jobs

@Suite("A captured log")
struct CapturedLogTests {
  private func log(_ limit: Int, _ pieces: [String]) -> CapturedLog {
    pieces.reduce(into: CapturedLog(limit: limit)) { $0.append(Array($1.utf8)) }
  }

  @Test("A log within its limit is kept whole")
  func whole() {
    #expect(log(10, ["12345", "67890"]).text == "1234567890")
    #expect(log(10, []).text == "")
  }

  @Test("Of a longer one the beginning and the end are kept, and how much is missing", arguments: [1, 2, 7, 100, 5000])
  func cut(pieceSize: Int) {
    let text = (0..<1000).map { String(format4($0)) }.joined()
    var log = CapturedLog(limit: 20)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      log.append(rest.prefix(pieceSize))
      rest = rest.dropFirst(pieceSize)
    }
    #expect(
      log.text
        == "0000000100\n[... 3980 bytes are left out here ...]\n9909980999".replacing("9909980999", with: "9709980999"))
    #expect(log.byteCount == 4000)
  }

  private func format4(_ number: Int) -> String { String(String(number + 10_000).dropFirst()) }

  @Test("Control characters stay; bytes that are no UTF-8 are shown by their number")
  func characters() {
    var log = CapturedLog(limit: 100)
    log.append([0x61, 0x00, 0x1b, 0xff, 0xc3, 0xa4, 0xc3, 0x0a])
    #expect(log.text == "a\0\u{1b}\\xff\u{e4}\\xc3\n")
  }

  @Test("The last lines that aren't blank are told, cut to a length")
  func lastLines() {
    let text = ["one\ntwo\n\nthree\n", String(repeating: "x", count: 30), "\n  \n"]
    #expect(log(1000, text).lastLines(2, length: 10) == ["three", "...xxxxxxxxxx"])
    #expect(log(1000, []).lastLines() == [])
  }
}
