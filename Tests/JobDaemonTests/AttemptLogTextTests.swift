import Testing

@testable import Jobs

@Suite("The log of an attempt")
struct AttemptLogTextTests {
  @Test("Each message is a line; without any there is no log")
  func lines() {
    var log = AttemptLogText()
    #expect(log.text == nil)
    log.append("one")
    log.append("two\nthree")
    #expect(log.text == "one\ntwo\nthree\n")
  }

  @Test("Of many messages the first and the last are kept, whole, and how many are missing")
  func many() throws {
    var log = AttemptLogText()
    for number in 0..<100_000 { log.append("message \(number)") }
    let lines = try #require(log.text).split(separator: "\n")
    #expect(lines.first == "message 0" && lines.last == "message 99999")
    let kept = lines.compactMap { Int($0.dropFirst("message ".count)) }
    #expect(kept.count == lines.count - 1 && kept == kept.sorted())
    #expect(lines.contains("[... \(100_000 - kept.count) messages are left out here ...]"))
    #expect((60_000...70_000).contains(log.text?.utf8.count ?? 0))
  }

  @Test("A message that is too long is cut, and does not push out all others")
  func long() throws {
    var log = AttemptLogText()
    log.append("first")
    log.append(String(repeating: "é", count: 1 << 20))
    log.append("last")
    let text = try #require(log.text)
    #expect(text.hasPrefix("first\né") && text.hasSuffix(" [cut]\nlast\n") && text.utf8.count < 40_000)
  }

  @Test("A log that is set replaces what was written, and can be written on")
  func replaced() {
    var log = AttemptLogText("whole\n")
    log.append("more")
    #expect(log.text == "whole\nmore\n")
  }
}
