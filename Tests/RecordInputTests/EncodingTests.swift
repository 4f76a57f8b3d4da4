import Foundation
import RecordInput
import Testing

@Suite("Encodings")
struct EncodingTests {
  private static let text = "Name;Größe\n\"Müller, Åse\";12,5\nÉmile;3\nœuvre – “x”;€4\n"

  @Test(
    "UTF-8, UTF-16 and Windows-1252 are recognized",
    arguments: [
      (String.Encoding.utf8, false, "utf-8"), (.utf8, true, "utf-8"), (.utf16LittleEndian, true, "utf-16le"),
      (.utf16BigEndian, true, "utf-16be"), (.utf16LittleEndian, false, "utf-16le"),
      (.utf16BigEndian, false, "utf-16be"), (.utf32LittleEndian, true, "utf-32le"),
      (.utf32BigEndian, true, "utf-32be"), (.windowsCP1252, false, "windows-1252"),
    ])
  func recognized(encoding: String.Encoding, hasMark: Bool, name: String) throws {
    let data = try #require(((hasMark ? "\u{FEFF}" : "") + Self.text).data(using: encoding))
    let source = try openSource(data)
    #expect(source.form.encoding.name == name)
    let result = Reading(source)
    #expect(result.columns == ["Name", "Größe"])
    #expect(result.rows == [["Müller, Åse", "12,5"], ["Émile", "3"], ["œuvre – “x”", "€4"]])
  }

  @Test(
    "Other encodings are stated by the names that iconv knows",
    arguments: [
      ("latin-1", String.Encoding.isoLatin1, "Größe"), ("ISO-8859-2", .isoLatin2, "żółw"),
      ("windows-1251", .windowsCP1251, "Привет"), ("Shift_JIS", .shiftJIS, "日本語"),
      ("utf-16", .utf16, "😀ä"), ("UTF8", .utf8, "😀"),
    ])
  func stated(name: String, encoding: String.Encoding, word: String) throws {
    let data = try #require("a,b\n\(word),1\n".data(using: encoding))
    let result = try read(Array(data)) { $0.encoding = TextEncoding(name) }
    #expect(result.rows == [[word, "1"]])
  }

  @Test("There are no encodings of other names", arguments: ["", "klingon", "utf-8//IGNORE", "../../x", "a b", "ü"])
  func unknown(name: String) {
    #expect(TextEncoding(name) == nil)
  }

  @Test("What is no text in the encoding makes its record bad, and no other")
  func invalid() throws {
    let windows = try read(Array("a,b\nx".utf8) + [0x81] + Array(",1\ny,2\n".utf8)) { $0.encoding = .windows1252 }
    #expect(windows.rows == [["y", "2"]])
    #expect(windows.rules == ["encoding"])
    #expect(windows.records[0].error?.message.contains("windows-1252") == true)
    // Half of a surrogate pair, and half of a character at the end.
    let units: [UInt16] = Array("a,b\nx".utf16) + [0xD800] + Array(",1\ny,2\nz,3".utf16)
    let bytes: [UInt8] = units.flatMap { unit -> [UInt8] in [UInt8(unit & 0xFF), UInt8(unit >> 8)] } + [0x41]
    let result = try read(bytes) { $0.encoding = .utf16LittleEndian }
    #expect(result.rows == [["y", "2"]])
    #expect(result.rules == ["encoding", "encoding"])
  }

  @Test("A wrong byte in UTF-8 is no reason to take the text for something else")
  func damagedUTF8() throws {
    let result = try read(Array("a,b\nä,1\n".utf8) + [0xE4, 0x2C, 0x32, 0x0A])
    #expect(result.rows == [["ä", "1"]])
    #expect(result.rules == ["encoding"])
  }
}
