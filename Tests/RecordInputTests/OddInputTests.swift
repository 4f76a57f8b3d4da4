import Foundation
import RecordInput
import Testing

@Suite("Inputs as spreadsheets, old programs and hurried people leave them")
struct OddInputTests {
  @Test(
    "A quote that swallows what follows ends the input with its line, and is no bad record",
    arguments: [
      ("a,b\n1,2\n1,\"oops\n3,4\n5,6\n", "line 3, column 3, field 2: the quote opened here is never closed"),
      ("a,b\n1,x\"y,\"oops\n3,4\n", "line 2, column 7, field 3: the quote opened here is never closed"),
      (
        "a,b\n1,\"oops\n" + String(repeating: "3,4\n", count: 500) + "5,\"\n6,7\n",
        "line 2: the record that begins here is more than 1000 bytes; close the quote that was opened in line 2"
      ),
    ])
  func unclosedQuote(text: String, reason: String) throws {
    let result = try read(text) { ($0.separator, $0.maxRecordSize) = (0x2C, 1_000) }
    #expect(result.rules == [])
    #expect(result.failure?.description.hasPrefix(reason) == true, "\(String(describing: result.failure))")
  }

  @Test("What is wrong behind a quoted field of several lines names the line where it was opened")
  func quoteLine() throws {
    let result = try read("a,b\n1,\"oops\n3,4\n5,\"x\"\n7,8\n") { $0.separator = 0x2C }
    let error = try #require(result.records.first?.error)
    #expect(error.line == 4)
    #expect(error.message.contains("a field that was opened in line 2"))
    #expect(result.rows == [["7", "8"]])
  }

  @Test("A value below a column at the end without a name is not left out silently")
  func unnamedColumns() throws {
    let text = "a,b,,\n1,2,,\n3,4,\"\",\n5,6,,7\n"
    #expect(try read(text) { ($0.separator, $0.hasHeader) = (0x2C, true) }.rules == [])
    let result = try read(text) { ($0.separator, $0.hasHeader, $0.refusesUnnamedValues) = (0x2C, true, true) }
    #expect(result.rows.map(\.first) == ["1", "3"])
    #expect(result.rules == ["unnamedColumn"])
    #expect(result.records[2].error?.fieldIndex == 3)
  }

  @Test(
    "A first line that names the separator is none of the records",
    arguments: ["sep=;\na;b\n1;2\n", "\u{FEFF}SEP=|\r\na|b\r\n1|2\r\n", "sep=\t\na\tb\n1\t2", "sep=,\ra,b\r1,2\r"])
  func namedSeparator(text: String) async throws {
    let utf16 = try #require(text.data(using: .utf16LittleEndian))
    for bytes in [Array(text.utf8), Array(utf16), try await packed(text.utf8, "gzip -c")] {
      let source = try openSource(bytes) { $0.hasHeader = true }
      let whole = Reading(source)
      #expect(whole.columns == ["a", "b"])
      #expect(whole.rows == [["1", "2"]])
      #expect(whole.records[0].line == 3)
      #expect(Reading(source, from: source.start) == whole)
      #expect(Reading(source, from: whole.records[0].next).records == [])
    }
    let plain = try read(text) { $0.hasHeader = true }.records[0]
    #expect(Array(text.utf8.dropFirst(plain.offset)).starts(with: plain.raw.utf8))
  }

  @Test("Values of one column are not split by what only stands in them", arguments: ["1,5", "x;y", "1,5;2|3"])
  func oneColumn(value: String) throws {
    let result = try read("col\n\(value)\n\(value)\n") { $0.hasHeader = true }
    #expect(result.columns == ["col"])
    #expect(result.rows == [[value], [value]])
  }

  @Test(
    "What begins as JSON does is told as JSON",
    arguments: [
      ("[{\"a\":\"1\"},{\"a\":\"2\"}] x", InputFormat.json, "\"x\" stands where the end of the text should come"),
      ("{\"a\":1}{\"a\":2}", .ndjson, "line 1, column 8: another value follows on the same line"),
      ("{\"a\":1}\r{\"a\":2}\r", .ndjson, "another value follows on the same line"),
      ("{\"a\":1} x", .ndjson, "expected the end of the text after its value"),
      ("{\"a\":\"1\",}\n{\"a\":\"2\"}\n", .ndjson, "a comma before the closing \"}\""),
    ])
  func brokenJSON(text: String, format: InputFormat, reason: String) throws {
    let source = try openSource(text.utf8)
    #expect(source.form.format == format)
    let result = Reading(source)
    let error = result.failure?.description ?? result.records.compactMap(\.error).first?.description
    #expect(error?.contains(reason) == true, "\(String(describing: error))")
  }

  @Test("A stated separator or quote means that a text is no JSON")
  func statedFields() throws {
    #expect(
      try openSource("{\"a\":1};2\n{\"a\":2};3\n".utf8) { $0.quoting = InputOptions.Quoting.none }.form.format == .csv)
  }

  @Test(
    "The array of records is found if there is one only",
    arguments: [
      ("{\"items\":[]}", ["items"], [] as [String]), ("{\"n\":0,\"items\":[],\"tags\":[\"x\"]}", ["items"], []),
      ("{\"items\":[{\"a\":\"1\"}],\"other\":[]}", ["items"], ["1"]), ("{\"a\":\"1\",\"tags\":[\"x\"]}", [], ["1"]),
    ])
  func array(text: String, path: [String], rows: [String]) throws {
    let source = try openSource(text.utf8) { $0.columns = ["a"] }
    #expect(source.form.path == path)
    #expect(Reading(source).rows == rows.map { [$0] })
  }

  @Test("Of several arrays, none is chosen")
  func severalArrays() throws {
    for text in ["{\"items\":[{\"a\":1}],\"other\":[{\"a\":2}]}", "{\"items\":[],\"other\":[]}"] {
      let error = #expect(throws: InputError.self) { try openSource(text.utf8) }
      #expect(error?.description.contains("several arrays (items, other); state which one as \"records\"") == true)
    }
    let text = "{\"items\":[{\"a\":1}],\"other\":[{\"a\":2}]}"
    #expect(try read(text) { $0.path = ["other"] }.rows == [["2"]])
    #expect(try read(text) { ($0.path, $0.columns) = ([], ["other"]) }.rows == [["[{\"a\":2}]"]])
  }

  @Test(
    "Files that are no text are called by their name",
    arguments: [
      ("printf 'PK\\003\\004\\024\\000'", "a zip archive"), ("echo a | bzip2 -c", "bzip2"), ("echo a | xz -c", "xz"),
      ("printf '7z\\274\\257\\047\\034'", "7z"), ("echo a | gzip -c | gzip -c", "gzip twice"),
      ("echo a | zstd -c | gzip -c", "packed twice"), ("tar -cf - /etc/hostname | gzip -c", "a tar archive"),
    ])
  func containers(command: String, name: String) async throws {
    let bytes = try await packed([], "(\(command)) 2>/dev/null")
    let error = #expect(throws: InputError.self) { try openSource(bytes) }
    #expect(error?.description.contains(name) == true, "\(String(describing: error))")
    #expect(try read("BZh9,x\n1,2\n").columns == ["BZh9", "x"])
  }

  @Test("Of an archive, the first two bytes are enough to be cut off")
  func shortArchive() throws {
    for bytes: [UInt8] in [[0x1F, 0x8B], [0x1F, 0x8B, 0x08], [0x28, 0xB5, 0x2F]] {
      let error = #expect(throws: InputError.self) { try openSource(bytes) }
      #expect(error?.description.contains("cut off") == true)
    }
  }

  @Test(
    "UTF-16 and UTF-32 without a byte order mark are recognized, with characters beyond the first 65,536 too",
    arguments: [
      (String.Encoding.utf16LittleEndian, "utf-16le"), (.utf16BigEndian, "utf-16be"),
      (.utf32LittleEndian, "utf-32le"), (.utf32BigEndian, "utf-32be"),
    ])
  func wideText(encoding: String.Encoding, name: String) throws {
    for text in ["a,b\n😀,1\n", "a\nb\nc\n", "Größe;Preis\nx😀😀;€ 4\n"] {
      let bytes = Array(try #require(text.data(using: encoding)))
      #expect(try openSource(bytes).form.encoding.name == name, "\(text)")
      let stated = try openSource(bytes) { $0.encoding = TextEncoding(name.hasPrefix("utf-16") ? "utf-16" : "utf-32") }
      #expect(Reading(stated) == (try read(text)))
    }
  }

  @Test("A Ctrl-Z at the end is none of the text", arguments: 1...12)
  func endMark(blockSize: Int) throws {
    func rows(_ text: String) throws -> [[String?]] {
      try read(text) { ($0.separator, $0.hasHeader, $0.blockSize) = (0x2C, true, blockSize) }.rows
    }
    #expect(try rows("a,b\r\n1,2\r\n\u{1A}") == [["1", "2"]])
    #expect(try rows("a,b\r\n1,2\u{1A}") == [["1", "2"]])
    #expect(try rows("a,b\r\n\u{1A}\u{1A}1,2\r\n") == [["\u{1A}\u{1A}1", "2"]])
    #expect(try read("{\"a\":1}\n\u{1A}") { $0.blockSize = blockSize }.rows == [["1"]])
  }

  @Test("A line of blanks is a record only where records have one field")
  func blanks() throws {
    for policy in RaggedRows.allCases {
      let result = try read(" \na,b\n1,2\n  \t\n3,4\n   ") { ($0.hasHeader, $0.raggedRows) = (true, policy) }
      #expect(result.columns == ["a", "b"])
      #expect(result.rows == [["1", "2"], ["3", "4"]])
      #expect(result.rules == [])
    }
    #expect(try read("a\n1\n  \n2\n") { $0.hasHeader = true }.rows == [["1"], ["  "], ["2"]])
  }

  @Test("A byte order mark in the middle is where texts were put one behind the other")
  func joinedTexts() throws {
    let mark = "\u{FEFF}"
    let lines = try read("\(mark){\"a\":1}\n\(mark){\"a\":2}\n\(mark)\n") { $0.blockSize = 5 }
    #expect(lines.rows == [["1"], ["2"]])
    #expect(lines.records.map(\.raw) == ["{\"a\":1}", "{\"a\":2}"])
    let table = try read("\(mark)a,b\n1,2\n\(mark)\(mark)3,4\n5,\(mark)6\n") {
      ($0.hasHeader, $0.blockSize) = (true, 3)
    }
    #expect(table.columns == ["a", "b"])
    #expect(table.rows == [["1", "2"], ["3", "4"], ["5", "\(mark)6"]])
  }

  @Test(
    "What is wrong in an array has its place in its line, also where the source goes on there",
    arguments: [
      ("[{\"a\":\"1\"},{\"a\":\"2\"},]", "line 1, column 21: a comma before the closing \"]\"; remove it"),
      ("[{\"a\":1},\n {\"a\":2} ,,{\"a\":3}]", "line 2, column 11: a value is missing before this comma"),
      ("[{\"a\":1},{\"a\":01}]", "line 1, column 15: a number begins with 0"),
    ])
  func places(text: String, reason: String) throws {
    let source = try openSource(text.utf8) { $0.columns = ["a"] }
    let whole = Reading(source)
    let error = try #require(whole.records.compactMap(\.error).first)
    #expect(error.description.hasPrefix(reason), "\(error)")
    #expect(Reading(source, from: whole.records[0].next).records == Array(whole.records.dropFirst()))
  }

  @Test("How deep arrays may be is told as it is")
  func depth() throws {
    let deep = String(repeating: "[", count: 1_000) + String(repeating: "]", count: 1_000)
    let message = try read("{\"a\":\(deep)}").records.first?.error?.message
    #expect(message == "more than 512 arrays and objects inside each other")
  }

  @Test(
    "What stands around the array is JSON, too",
    arguments: [
      ("{\"x\":tru,\"d\":[{\"a\":1}]}", "line 1: \"t\" stands where a value should come"),
      ("{\"d\":[{\"a\":1}],\"x\":}", "\"}\" stands where a value should come"),
      ("{\"d\":[{\"a\":1}],\n\"x\":[1,{\"y\":2 3}]}", "line 2: \"3\" stands where"),
      ("{\"x\":[1,],\"d\":[{\"a\":1}]}", "\"]\" stands where a value should come"),
      ("{\"x\":{\"y\":1,},\"d\":[{\"a\":1}]}", "\"}\" stands where a key in quotes should come"),
      ("{\"x\":\"\\q\",\"d\":[{\"a\":1}]}", "stands where a value should come"),
      ("{\"x\":[[1}],\"d\":[{\"a\":1}]}", "\"}\" stands where"),
      ("{\"d\":[{\"a\":1}],\"x\":\"yz", "the text ends in line 1"),
    ])
  func around(text: String, reason: String) throws {
    for size in [1, 7, 4096] {
      let result = try read(text) { ($0.path, $0.blockSize) = (["d"], size) }
      #expect(result.failure?.description.contains(reason) == true, "\(String(describing: result.failure))")
    }
  }

  @Test("Separators and quotes that exclude each other are refused before a file is looked at")
  func clashes() {
    func problem(_ separator: UInt8?, _ quote: InputOptions.Quoting?, _ format: InputFormat? = nil) -> String? {
      var options = InputOptions()
      (options.separator, options.quoting, options.format) = (separator, quote, format)
      return options.problem?.key
    }
    #expect(problem(0x22, nil) == "separator")
    #expect(problem(0x22, InputOptions.Quoting.none) == nil)
    #expect(problem(0x22, .byte(0x27)) == nil)
    #expect(problem(nil, .byte(0x2C)) == "quote")
    #expect(problem(nil, .byte(0x09), .tsv) == "quote")
    #expect(problem(0x3B, .byte(0x2C)) == nil)
  }

  @Test(
    "Blanks of Unicode are blanks",
    arguments: ["\u{A0}", "\u{2003}", "\u{202F}", "\u{3000}", "\u{FEFF}", " \t", "\u{85}"])
  func trimming(blank: String) {
    for text in ["x", "ä \u{A0}ö", "€", ""] {
      let trimmed = Array((blank + blank + text + blank).utf8).withUnsafeBytes { Array(trimmingBlanks($0)) }
      #expect(String(decoding: trimmed, as: UTF8.self) == text)
    }
  }
}
