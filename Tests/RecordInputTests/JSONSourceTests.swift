import RecordInput
import Testing

@Suite("Records of JSON")
struct JSONSourceTests {
  @Test("Each line is a record, keys are columns, and what is missing is told from what is empty")
  func lines() throws {
    let text = """
      {"id": 1, "name": "a", "on": true, "tags": ["x", {"y": 1}], "none": null}

      {"name": "ä\\n\\u00e9\\ud83d\\ude00\\"", "id": -1.5e3}\r
        {"id":"","more":{"z":[]}}
      """
    let result = try read(text)
    #expect(result.columns == ["id", "name", "on", "tags", "none", "more"])
    #expect(
      result.rows == [
        ["1", "a", "true", #"["x", {"y": 1}]"#, nil], ["-1.5e3", "ä\né😀\"", nil, nil, nil],
        ["", nil, nil, nil, nil, #"{"z":[]}"#],
      ])
    #expect(result.records[0].kinds == [.number, .quotedText, .boolean, .json, .null])
    #expect(result.records[1].kinds == [.number, .quotedText, .absent, .absent, .absent])
    #expect(result.records.map(\.line) == [1, 3, 4])
  }

  @Test("Columns are stated as keys or as ways into objects, and other keys are left out")
  func statedColumns() throws {
    let result = try read(
      """
      {"a": {"b": 1, "c": {"d": 2}}, "e": 3, "x.y": 4}
      {"e": {"no": 1}, "a": 5, "x": {"y": 6}}
      {"a": {"b": null, "\\u0063": {"d": "\\t"}}, "a": {"b": 7}}
      """
    ) { $0.columns = ["e", "a.b", "a.c.d", "x.y", "a"] }
    #expect(
      result.rows == [
        ["3", "1", "2", "4", #"{"b": 1, "c": {"d": 2}}"#], [#"{"no": 1}"#, nil, nil, "6", "5"],
        [nil, "7", "\t", nil, #"{"b": 7}"#],
      ])
  }

  @Test("Keys of objects inside records become columns if wanted")
  func flattening() throws {
    let result = try read("{\"a\":{\"b\":1,\"c\":{\"d\":2}}}\n{\"a\":null,\"e\":[1]}\n") { $0.flattensObjects = true }
    #expect(result.columns == ["a.b", "a.c.d", "a", "e"])
    #expect(result.rows == [["1", "2"], [nil, nil, nil, "[1]"]])
  }

  @Test(
    "The elements of an array are records, wherever the array is",
    arguments: [
      ("[{\"a\":1},{\"a\":2}]", [] as [String]), (" [ {\"a\" : 1}\n,\n{\"a\":2} ] \n", []),
      ("\u{FEFF}[{\"a\":1},{\"a\":2}]", []),
      (#"{"data":[{"a":1},{"a":2}]}"#, ["data"]),
      (#"{"x":[1,"]"],"y":{"data":[]}, "data" : [{"a":1},{"a":2}] , "z":{"q":"}"}} "#, ["data"]),
      (#"{"o":{"b":0,"list":[{"a":1},{"a":2}],"c":[{}]}}"#, ["o", "list"]),
    ])
  func arrays(text: String, path: [String]) throws {
    let result = try read(text) { if path.count > 1 { $0.path = path } }
    #expect(result.rows == [["1"], ["2"]])
    #expect(result.failure == nil)
    let source = try openSource(text.utf8) { if path.count > 1 { $0.path = path } }
    #expect(source.form.path == path)
    #expect(source.form.format == .json)
  }

  @Test("An object over several lines is one record")
  func wholeText() throws {
    let result = try read("{\n \"a\": 1,\n \"b\": [\n2]\n}\n")
    #expect(result.rows == [["1", "[\n2]"]])
  }

  @Test("Arrays as records have fields in their order")
  func positional() throws {
    let result = try read("[1, \"a\", null]\n[2, \"b\", [3]]\n[4]\n")
    #expect(result.columns == nil)
    #expect(result.rows == [["1", "a", nil], ["2", "b", "[3]"]])
    #expect(result.rules == ["fieldCount"])
    #expect(try read("[[1,2],[3]]") { $0.raggedRows = .pad }.rows == [["1", "2"], ["3", nil]])
  }

  @Test("A bad record has its place and its text, and the next one follows", arguments: [InputFormat.ndjson, .json])
  func badRecords(format: InputFormat) throws {
    let records = [
      #"{"a": 1}"#, #"{"a": 01}"#, #"{"a": "\x"}"#, #"{"a" 1}"#, #"{"a": tru}"#, "[1]", #"{"a": [1}]}"#, #"{"a": 2}"#,
    ]
    let text = format == .json ? "[" + records.joined(separator: ",\n") + "]" : records.joined(separator: "\n")
    let result = try read(text) { $0.format = format }
    #expect(result.rows == [["1"], ["2"]])
    #expect(result.records.map(\.raw) == records)
    #expect(result.records.map(\.line) == Array(1...8))
    #expect(result.rules.count == 6)
    #expect(result.rules[4] == "notAnObject")
    let error = try #require(result.records[1].error)
    #expect(error.line == 2)
    #expect(error.message.contains("a number begins with 0"))
  }

  @Test("A text with U+0000 is refused, as in delimited text; a key, and a value that is kept as JSON, may have it")
  func nulCharacter() throws {
    let result = try read(
      #"{"a": "x\u0000"}"# + "\n" + #"{"a": {"b": "\u0000"}}"# + "\n" + #"{"a": "\\u0000", "\u0000": 1}"#
    ) {
      $0.format = .ndjson
    }
    #expect(result.rules == ["nulByte"])
    #expect(result.rows.map(\.first) == [#"{"b": "\u0000"}"#, #"\u0000"#])
    let error = try #require(result.records[0].error)
    #expect(error.description == "line 1, column 7: the text holds the character U+0000, which not every store holds")
  }

  @Test(
    "Text that ends too early, or goes on too long, is told after the records before it",
    arguments: [
      "[{\"a\":1}", "[{\"a\":1},", "[{\"a\":1},{\"a\":", "[{\"a\":1}] x", "[{\"a\":1}]]",
      "{\"d\":[{\"a\":1}]", "{\"d\":[{\"a\":1}],",
    ])
  func brokenArrays(text: String) throws {
    let result = try read(text) {
      $0.format = .json
      if text.hasPrefix("{") { $0.path = ["d"] }
    }
    #expect(result.rows == [["1"]])
    #expect(result.failure != nil)
  }

  @Test("A key means something else in each object that it is in, in however many")
  func sameKeys() throws {
    let count = 200
    let record = (0..<count).map { "\"o\($0)\":{\"x\":\($0),\"y\":-\($0)}" }.joined(separator: ",")
    // The second time in another order, so that keys are looked up.
    let other = (0..<count).reversed().map { "\"o\($0)\":{\"y\":-\($0),\"x\":\($0)}" }.joined(separator: ",")
    let result = try read("{\(record)}\n{\(other)}\n") {
      $0.columns = (0..<count).flatMap { ["o\($0).x", "o\($0).y"] }
    }
    let expected: [String?] = (0..<count).flatMap { ["\($0)", "-\($0)"] }
    #expect(result.rows == [expected, expected])
  }

  @Test(
    "What stands beside the array of records must be JSON as well",
    arguments: ["01", "nil", "1 2", "\"\\x\"", "-"])
  func surroundings(text: String) throws {
    let whole = try read("{\"x\":\(text),\"data\":[{\"a\":1}]}") {
      $0.format = .json
      $0.path = ["data"]
    }
    #expect(whole.failure != nil)
    #expect(whole.rows == [])
  }

  @Test("A way that leads nowhere is told")
  func noPath() throws {
    for text in ["{}", "[]", "{\"a\":1}", "{\"d\":{}}", "{\"d\":3}", "", "{\"x\":[1]}"] {
      #expect(
        try read(text) {
          $0.format = .json
          $0.path = ["d"]
        }.failure != nil, "\(text)")
    }
  }

  @Test(
    "Valid values of all forms are taken",
    arguments: [
      "[]", "[\"\"]", "[[]   ]", "[null, 1, \"1\", {}]", "[1\n]", " [1]", "[1,null,null,null,2]", "[2] ",
      "[123e65]", "[0e+1]", "[0e1]", "[ 4]", "[-0.000000000000000000000000000000000000000000000000000000000000000001]",
      "[20e1]", "[-0]", "[-123]", "[-1]", "[1E22]", "[1E-2]", "[123.456e78]", "[0.4e006]", "[1.5e+9999]",
      "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", "{\"a\":\"b\",\"a\":\"c\"}", "{\"a\":\"b\",\"a\":\"b\"}", "{}", "{\"\":0}",
      "{\"foo\\u0000bar\": 42}", "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }", "{\"a\":[]}", "{\n\"a\": \"b\"\n}",
      "[\"\\u0060\\u012a\\u12AB\"]", "[\"\\uD801\\udc37\"]", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\\u0000\"]",
      "[\"a/*b*/c/*d//e\"]", "[\"\\u0012\"]", "[\"\\uFFFF\"]", "[\"\u{10FFFF}\"]", "[\"\u{2028}\"]", "[\"\u{7F}\"]",
      "[\"π\"]", "false", "42", "-0.1", "null", "\"asd\"", "true", "\"\"", "[\"a\"]\n", "[true]", " [] ",
    ])
  func valid(text: String) throws {
    let result = try read(text) { $0.format = .json }
    #expect(result.failure == nil, "\(result.failure!)")
    #expect(result.rules == [])
  }

  @Test(
    "What is no JSON is refused",
    arguments: [
      "[1 true]", "[a]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]", "[\"x\"", "[x",
      "[3[4]]", "[1:2]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[\"\u{0B}a\"\\f]", "[*]",
      "[\"\"",
      "[1,", "[1,\n1\n,1", "[{}", "[fals]", "[nul]", "[tru]", "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]",
      "[-NaN]", "[.-1]", "[.2e-3]", "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[0e+-1]", "[1.0e+]",
      "[1.0e-]", "[1.0e]", "[1 000.0]", "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]", "[9.e+]", "[1+2]", "[0x1]", "[0x42]",
      "[Infinity]", "[0e+-1]", "[-123.123foo]", "[012]", "[-.123]", "[1.]", "[1ea]", "[\u{FF11}]", "[NaN]", "[- 1]",
      "[\"x\", truth]", "{[: \"x\"}\n", "{\"x\", null}", "{\"x\"::\"b\"}", "{\"a\":\"a\" 123}", "{key: 'value'}",
      "{\"a\" b}", "{:\"b\"}", "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}", "{9999E9999:1}", "{null:null,null:null}",
      "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}", "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}#", "{\"a\":\"b\",,\"c\":\"d\"}",
      "{a: \"b\"}", "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }", "{\"a\":\"b\"}#{}", " ", "[\"\\uD800\\\"]",
      "[\"\\uD800\\u\"]",
      "[\"\\uD800\\u1\"]", "[\"\\uD800\\u1x\"]", "[\u{E9}]", "[\"\\x00\"]", "[\"\\\\\\\"]", "[\"\\\u{9}\"]",
      "[\"\\🌀\"]",
      "[\"\\\"]", "[\"\\u00A\"]", "[\"\\uD834\\uDd\"]", "[\"\\a\"]", "[\\u0020\"asd\"]", "[\\n]", "\"",
      "['single quote']",
      "abc", "[\"\\", "[\"new\nline\"]", "[\"\t\"]", "\"\\UA66D\"", "[\"x\u{0}\"]", "<.>", "[<null>]", "[1]x", "[1]]",
      "]",
      "[", "", "[][]", "{", "{}}", "{\"\":", "{\"a\":/*comment*/\"b\"}", "{\"a\": true} \"x\"", "['", "[,", "[{",
      "[\"a",
      "{]", "{,", "{[", "{\"a", "{'a'", "[\"\\{[\"\\{[\"\\{", "*", "{\"a\":\"b\"}#{", "[\u{2060}]", "[\\u000A\"\"]",
      "[1", "[ false, nul", "[ true, fals", "[ false, tru", "{\"asd\":\"asd\"", "å", "[True]", "1]", "{\"x\": true,",
      "[[]", "2@", "{}}}", "{\"\":{\"\":", "{\"a\":\"b\"}{", "\u{2060}", "[\u{C}]",
    ])
  func invalid(text: String) {
    #expect(isRefused(text))
  }

  /// Whether a text is refused as a whole or in a record.
  private func isRefused(_ text: String) -> Bool {
    guard let result = try? read(text, { $0.format = .json }) else { return true }
    return result.failure != nil || !result.rules.isEmpty
  }

  @Test("However deep arrays are inside each other, nothing breaks")
  func depth() throws {
    for text in [String(repeating: "[", count: 100_000), String(repeating: "{\"\":[", count: 50_000)] {
      #expect(isRefused(text))
    }
    let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    #expect(try read("{\"a\":\(deep)}").rows == [[deep]])
    #expect(try read("{\"a\":[\(deep)]}").rules.count == 1)
  }

  @Test("A record over the limit is passed over, and the next one follows", arguments: [InputFormat.ndjson, .json])
  func largeRecords(format: InputFormat) throws {
    let large = "{\"a\":\"" + String(repeating: "x\\\"y,]}", count: 3_000) + "\"}"
    let text = format == .json ? "[{\"a\":1},\(large),{\"a\":2}]" : "{\"a\":1}\n\(large)\n{\"a\":2}\n"
    let result = try read(text) {
      $0.maxRecordSize = 1_000
      $0.blockSize = 256
    }
    #expect(result.rows == [["1"], ["2"]])
    #expect(result.rules == ["recordTooLarge"])
    let whole = try read(text) { $0.blockSize = 256 }
    #expect(whole.rows.count == 3)
    #expect(whole.records[1].raw == large)
  }

  @Test("Thousands of keys in any order are found")
  func manyKeys() throws {
    let count = 3_000
    func record(_ order: some Sequence<Int>) -> String {
      "{" + order.map { "\"key\($0)\":\($0)" }.joined(separator: ",") + "}"
    }
    let result = try read(record(0..<count) + "\n" + record((0..<count).reversed()) + "\n")
    #expect(result.columns?.count == count)
    #expect(result.rows[0] == result.rows[1])
  }
}
