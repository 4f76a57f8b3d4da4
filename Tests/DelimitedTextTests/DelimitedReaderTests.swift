import DelimitedText
import Testing

@Suite("Delimited reader")
struct DelimitedReaderTests {
  @Test(
    "RFC 4180 and its common variants are read",
    arguments: [
      ("a,b,c\r\n1,2,3\r\n", [["a", "b", "c"], ["1", "2", "3"]]),
      ("a,b\n1,2", [["a", "b"], ["1", "2"]]),
      ("a\rb\r\nc\nd", [["a"], ["b"], ["c"], ["d"]]),
      ("\"a,b\",\"c\r\nd\",\"e\"\"f\"", [["a,b", "c\r\nd", "e\"f"]]),
      ("\"\"\"\",\"\"\"a\"\"\"\n", [["\"", "\"a\""]]),
      (",\n,,\n", [["", ""], ["", "", ""]]),
      ("a,", [["a", ""]]),
      (" a , b \n", [[" a ", " b "]]),
      ("\u{FEFF}\"x\",y\n", [["x", "y"]]),
      ("a,b\n\u{FEFF}c,d\n\u{FEFF}\u{FEFF}\"e\"\n", [["a", "b"], ["c", "d"], ["e"]]),
      ("\n\r\n\ra\n\n", [["a"]]),
      ("ä€😀,\"ö\"\n", [["ä€😀", "ö"]]),
      ("a\tb\u{1}\u{B},c", [["a\tb\u{1}\u{B}", "c"]]),
      ("", []), ("\u{FEFF}", []), ("\n", []),
    ] as [(String, [[String]])])
  func variants(text: String, expected: [[String]]) {
    #expect(fields(text) == expected)
  }

  @Test("An empty quoted field differs from an empty field, and a lone one is a record")
  func emptyQuoted() {
    #expect(readAll(",\"\"\n").map(\.quoted) == [[false, true]])
    #expect(readAll("\"\"\n").map(\.fields) == [[""]])
  }

  @Test("Tabs separate fields, quotes can be switched off and comments are skipped")
  func dialects() {
    #expect(fields("a\tb,c\n", .tsv) == [["a", "b,c"]])
    #expect(fields("a\"b;\"c\n", DelimitedDialect(separator: 0x3B, quote: nil)) == [["a\"b", "\"c"]])
    let records = readAll("#x,\"\n1,#2\n\n# end", DelimitedDialect(comment: 0x23))
    #expect(records.map(\.fields) == [["1", "#2"]])
    #expect(records.map(\.line) == [2])
  }

  @Test("Stray quotes are text where the dialect says so")
  func literalQuotes() {
    let dialect = DelimitedDialect(strayQuotes: .literal)
    #expect(fields("a\"b,\"ab\"cd,\"a\"\"b\"c\"d\"\n", dialect) == [["a\"b", "abcd", "a\"bc\"d\""]])
  }

  @Test("A record knows its offset, its line counted through quotes, and its raw text")
  func places() {
    let records = readAll("a\n\n\"x\r\ny\rz\",\"q\"\"\"\r\nlast")
    #expect(records.map(\.line) == [1, 3, 6])
    #expect(records.map(\.offset) == [0, 3, 19])
    #expect(records[1].raw == "\"x\r\ny\rz\",\"q\"\"\"")
  }

  @Test("A reader that starts where another stopped goes on with the same records")
  func resume() {
    let text = Array("\u{FEFF}h,i\r\n\"a\r\nb\",c\r\n\r\n\rd,e\rf,\"g\nh\"\nend".utf8)
    let all = readAll(text)
    #expect(all.count == 5)
    for (index, record) in all.enumerated() {
      #expect(readAll(text, from: record.next) == Array(all[(index + 1)...]))
    }
  }

  @Test("Errors name code, line, column and field, and the next record is read")
  func errors() {
    func check(
      _ text: String, _ code: DelimitedTextError.Code, line: Int, column: Int, offset: Int, field: Int,
      limit: Int? = nil, quoteLine: Int? = nil, dialect: DelimitedDialect = .csv,
      source: SourceLocation = #_sourceLocation
    ) {
      let records = readAll(text + "\nok,ok", dialect)
      let expected = DelimitedTextError(
        code: code, line: line, column: column, byteOffset: offset, fieldIndex: field, limit: limit,
        quoteLine: quoteLine)
      #expect(records.compactMap(\.error) == [expected], sourceLocation: source)
      #expect(expected.description.contains("line \(line)"), sourceLocation: source)
      if code != .unclosedQuote { #expect(records.last?.fields == ["ok", "ok"], sourceLocation: source) }
    }
    check("x\n\na,b\"c", .strayQuote, line: 3, column: 4, offset: 6, field: 1)
    check("\"a\nb\"c,d", .textAfterQuote, line: 2, column: 3, offset: 5, field: 0, quoteLine: 1)
    check("a,\u{0}b", .nulByte, line: 1, column: 3, offset: 2, field: 1)
    check("a,\"\r\n\u{0}\"", .nulByte, line: 2, column: 1, offset: 5, field: 1, quoteLine: 1)
    check("\"\"\u{0}", .nulByte, line: 1, column: 3, offset: 2, field: 0)
    check("a\nb,\"c\nd\n\ne", .unclosedQuote, line: 2, column: 3, offset: 4, field: 1)
    check("a\"b,\"c\nd", .unclosedQuote, line: 1, column: 5, offset: 4, field: 1)
    let small = DelimitedDialect(maxRecordSize: 5, maxFieldCount: 2)
    check("12345\n123456", .recordTooLarge, line: 2, column: 1, offset: 6, field: 0, limit: 5, dialect: small)
    check(
      "\"a\"x,\"b\n\"", .recordTooLarge, line: 1, column: 1, offset: 0, field: 0, limit: 5, quoteLine: 1, dialect: small
    )
    check("a,b,c,d", .recordTooLarge, line: 1, column: 1, offset: 0, field: 0, limit: 5, dialect: small)
    check("a,b,c", .tooManyFields, line: 1, column: 5, offset: 4, field: 2, limit: 2, dialect: small)
  }

  @Test("More fields than there was memory for at first are kept")
  func manyFields() {
    let expected = (0..<5000).map(String.init)
    #expect(fields(expected.joined(separator: ",") + "\nx") == [expected, ["x"]])
  }

  @Test("A dialect whose special bytes clash says so")
  func clashes() {
    #expect(DelimitedDialect(separator: 0x22).problem != nil)
    #expect(DelimitedDialect(separator: 0x0A).problem != nil)
    #expect(DelimitedDialect(separator: 0xE9).problem != nil)
    #expect(DelimitedDialect(maxRecordSize: 0).problem != nil)
    #expect(DelimitedDialect.tsv.problem == nil)
  }

  @Test("A failing read reaches the caller and the reader goes on afterwards")
  func failingRead() throws {
    struct Failure: Error {}
    var reader = DelimitedReader()
    #expect(try reader.nextRecord() == .needsInput)
    do {
      try reader.fill { _ throws(Failure) in throw Failure() }
      Issue.record("the failure was swallowed")
    } catch {}
    reader.fill { buffer in
      buffer.copyBytes(from: Array("a,b\n".utf8))
      return 4
    }
    #expect(try reader.nextRecord() == .record)
    #expect(reader.fieldCount == 2)
  }
}
