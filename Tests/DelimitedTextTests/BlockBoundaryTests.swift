import DelimitedText
import TestSupport
import Testing

@Suite("Block boundaries")
struct BlockBoundaryTests {
  static let texts = [
    "\u{FEFF}id,name\r\n1,\"a \"\"quoted\"\" name\"\r\n\r\n\"\",,\"\r\n\"\r2,x\n\n",
    "\"\"\"\",\"\"\"\"\"\"\n\"a\"\r\n\"b\"\r\"c\"\n# comment \"\r\n\r\r\n\n\rz",
    "a,b\"c\nd,\"e\"f\n\"\"\"g\"\"\"h\"i\"\nj\u{0},\"k\u{0}\r\n\"\nl,m,n,o\n",
    "long long long long long long long long long long long,\"quoted, and\r\nlonger than a block of sixty-four\"\r\nx\r\n",
    "123456789012345678901234567890123456789012345678901234567890123\r\n\"\"\n",
    "ok\n\"never\r\n\"\"closed\r\r\n\n,", "\u{FEFF}", "\r", "\r\n", ",", "\"", "\"\"", "\"\"\"",
  ]

  @Test("The same text gives the same records in blocks of every size", arguments: texts)
  func everyBlockSize(text: String) {
    let bytes = Array(text.utf8)
    let dialects = [
      DelimitedDialect.csv,
      DelimitedDialect(comment: 0x23, strayQuotes: .literal, maxRecordSize: 40, maxFieldCount: 3),
      DelimitedDialect(separator: 0x6E, quote: nil, maxRecordSize: 8),
    ]
    for dialect in dialects {
      let whole = readAll(bytes, dialect)
      for size in 1...64 {
        #expect(readAll(bytes, dialect, blockSize: size) == whole, "blocks of \(size)")
        #expect(readAll(bytes, dialect, blockSize: 97, piece: size) == whole, "pieces of \(size)")
      }
    }
  }

  @Test("Random texts are read as by a reader that goes byte by byte", arguments: 1...16)
  func randomTexts(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let alphabet = Array("aaaaabc  ,,,,;\"\"\"\"\"\n\n\r\r\t#\u{0}ä".utf8)
    let plain = Array("abcdefghij,,,\n".utf8) + Array("\"".utf8)
    for _ in 0..<500 {
      let source = Bool.random(using: &random) ? alphabet : plain
      var bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in source.randomElement(using: &random)! }
      if Int.random(in: 0..<4, using: &random) == 0 { bytes = [0xEF, 0xBB, 0xBF] + bytes }
      let dialect = DelimitedDialect(
        separator: [0x2C, 0x3B, 0x09].randomElement(using: &random)!,
        quote: Int.random(in: 0..<5, using: &random) == 0 ? nil : 0x22,
        comment: Bool.random(using: &random) ? 0x23 : nil,
        strayQuotes: Bool.random(using: &random) ? .error : .literal,
        maxRecordSize: [1 << 20, 30].randomElement(using: &random)!)
      let expected = ReferenceReader.read(bytes, dialect)
      let size = Int.random(in: 1...300, using: &random)
      let result = readAll(bytes, dialect, blockSize: size)
      #expect(result == expected, "\(bytes), \(dialect), blocks of \(size)")
    }
  }

  @Test("A record far larger than a block is kept whole, and one over the limit is passed over")
  func largeRecords() {
    let large = String(repeating: "0123456789\n,\"\"", count: 30_000)
    let text = Array("a,\"\(large)\"\nb,c\n".utf8)
    let records = readAll(text, blockSize: 1000)
    #expect(records.map(\.fields) == [["a", large.replacing("\"\"", with: "\"")], ["b", "c"]])
    let limited = readAll(text, DelimitedDialect(maxRecordSize: 10_000), blockSize: 1000)
    #expect(limited.map(\.error?.code) == [.recordTooLarge, nil])
    #expect(limited.last == records.last)
  }
}
