import Glibc
import SystemSupport
import Testing

@Suite struct SystemErrorTests {
  @Test("An error names the call, the path and the errno")
  func description() throws {
    let error = #expect(throws: SystemError.self) { _ = try FileDescriptor.open("/nowhere/at/all") }
    #expect(error?.code == .noEntry)
    #expect(error?.description == #"open "/nowhere/at/all": No such file or directory (ENOENT)"#)
    #expect(error?.hinting("create it").description.hasSuffix("(ENOENT); create it") == true)
  }

  @Test("An unknown errno is printed as a number")
  func unknownCode() {
    #expect(SystemError(.init(rawValue: 99_999), call: "x").description == "x: Unknown error (errno 99999)")
  }

  @Test("The gate repeats an interrupted call and keeps errno from the call")
  func gate() throws {
    var attempts = 0
    let result = try systemCall("test") { () -> Int32 in
      attempts += 1
      errno = EINTR
      return attempts < 3 ? -1 : 7
    }
    #expect(result == 7)
    #expect(attempts == 3)
    let error = #expect(throws: SystemError.self) {
      try systemCall(
        "test",
        {
          errno = EIO; return "subject"
        }()
      ) { () -> Int32 in
        errno = EAGAIN
        return -1
      }
    }
    #expect(error?.code == .wouldBlock)
    #expect(error?.subject == "subject")
  }

  @Test(
    "Foreign names are safe to print and stay distinct",
    arguments: [
      (Array("plain-ünï 名.csv".utf8), "plain-ünï 名.csv"),
      (Array("a\nb".utf8), #"a\nb"#),
      (Array(#"a\nb"#.utf8), #"a\\nb"#),
      (Array("\u{1b}[31m".utf8), #"\x1b[31m"#),
      (Array("\"".utf8), #"\""#),
      ([0x61, 0xff, 0xc3, 0x28], #"a\xff\xc3("#),
      (Array("x\u{202e}gpj".utf8), #"x\u{202e}gpj"#),
      (Array("\u{7f}\u{85}\u{2028}".utf8), #"\x7f\u{85}\u{2028}"#),
      ([0xed, 0xa0, 0x80], #"\xed\xa0\x80"#),
      ([0xf0, 0x9f], #"\xf0\x9f"#),
      ([0x61, 0x01], #"a\x01"#),
      (Array("e\u{301}👩‍🚀".utf8), "e\u{301}👩\\u{200d}🚀"),
    ])
  func displayNames(bytes: [UInt8], expected: String) {
    #expect(displayName(bytes) == expected)
    #expect(FileName(bytes: bytes).description == expected)
  }

  @Test(
    "A message that is cut off says so, and one that fits is whole",
    arguments: [
      ("abc", "abc"), ("abcd", "abcd"), ("abcde", "abcd..."), ("ab\n", "ab\\n"), ("abc\n", "abc\\..."), ("", ""),
    ])
  func cutMessages(text: String, expected: String) {
    #expect(singleLine(text, limit: 4) == expected)
  }
}
