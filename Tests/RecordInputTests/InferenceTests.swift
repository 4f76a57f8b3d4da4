import RecordInput
import Testing

@Suite("Types of columns")
struct InferenceTests {
  @Test(
    "Dates of other patterns become those of ISO 8601, with hours of a half day and years of two digits",
    arguments: [
      ("dd.MM.yy hh:mm a", "01.02.69 12:05 PM", "2069-02-01T12:05:00"),
      ("dd.MM.yy hh:mm a", "31.12.70 12:05 am", "1970-12-31T00:05:00"),
      ("dd.MM.yy hh:mm a", "31.12.99 11:59 pm", "1999-12-31T23:59:00"),
      ("dd.MM.yy hh:mm a", "31.12.99 13:00 pm", nil), ("d/M/yyyy", "1/2/2026", "2026-02-01T00:00:00"),
      ("d/M/yyyy", "1/2/2026 ", nil), ("d/M/yyyy", "1/2/26", nil),
    ] as [(String, String, String?)])
  func datePatterns(pattern: String, text: String, expected: String?) throws {
    let pattern = try #require(DatePattern(pattern))
    let found = Array(text.utf8).withUnsafeBytes { pattern.iso8601($0) }
    #expect(found.map { String(decoding: $0, as: UTF8.self) } == expected)
  }

  private func guess(
    _ values: [String], _ kind: FieldKind = .text, isTyped: Bool = false, tolerance: Double = 0
  ) -> ColumnGuess {
    var guess = ColumnGuess()
    guess.tolerance = tolerance
    for (place, value) in values.enumerated() {
      Array(value.utf8).withUnsafeBytes {
        guess.add($0, kind, isTyped: isTyped, line: place + 2, using: ByteScratch())
      }
    }
    return guess
  }

  @Test(
    "The narrowest type that holds all values as they are",
    arguments: [
      (["0", "-32768", "32767"], GuessedType.integer16), (["32768"], .integer32), (["-2147483649"], .integer64),
      (["9223372036854775807", "-9223372036854775808"], .integer64), (["9223372036854775808"], .decimal),
      (["1", "2.5"], .double), (["1e5", "-0.25"], .double), (["0.1", "123456789012345"], .double),
      (["0.1234567890123456789"], .decimal), (["12345678901234567.25"], .decimal),
      // A Double written in full stays one.
      (["0.10000000000000001", "3.141592653589793"], .double), (["9007199254740993.5"], .decimal),
      (["0.12345678901234567890123456789012345678901"], .string), (["1e400"], .string),
      (["1234567890123456789012345678901234567890"], .string),
      (["007"], .string), (["+49"], .string), (["1."], .string), ([".5"], .string),
      (["-"], .string),
      (["NaN"], .string), (["0x10"], .string), (["1 "], .string),
      (["true", "FALSE"], .boolean), (["yes", "n"], .boolean), (["y", "n"], .boolean), (["n", "n"], .string),
      (["0", "1"], .integer16), (["true", "0"], .string),
      (["2024-02-29", "2024-01-01T10:00:00Z"], .date), (["2023-02-29"], .string), (["2024"], .integer16),
      (["2f1acc6e-2f2f-4d0e-9f1b-8f7c5d0f3a11", "2F1ACC6E-2F2F-4D0E-9F1B-8F7C5D0F3A11"], .uuid),
      (["1", "x"], .string), ([], .string), ([""], .string),
      // Versions and sections, and numbers as people and programs write them.
      (["1.1", "2.0", "10"], .string), (["3.9", "3.10"], .string), (["1.10", "2"], .string),
      (["1.50", "2.00", "0"], .double), (["1.5", "2.0", "10.0"], .double), (["1.5", "2", "10.25"], .double),
      (["1.25", "2.0"], .double), (["1e3", "1.5", "0.0"], .double),
    ] as [([String], GuessedType)])
  func types(values: [String], expected: GuessedType) {
    #expect(guess(values).type == expected)
  }

  @Test("Numbers that are told to be some are no versions")
  func typedNumbers() {
    #expect(guess(["1.1", "2.0", "10"], .number, isTyped: true).type == .double)
  }

  @Test(
    "Numbers and dates as they are written in many places, if nothing is left to doubt",
    arguments: [
      (["1,5", "-2", "1.234,25"], GuessedType.double, ["decimal": ",", "grouping": "."]),
      (["1,5", "20"], .double, ["decimal": ","]), (["1,234.5", "7"], .double, ["decimal": ".", "grouping": ","]),
      (["1.234.567", "1.000"], .integer32, ["decimal": ",", "grouping": "."]),
      (["1,234,567"], .integer32, ["decimal": ".", "grouping": ","]),
      (["12 345,5"], .double, ["decimal": ",", "grouping": " "]),
      (["12\u{202F}345,5"], .double, ["decimal": ",", "grouping": "\u{202F}"]),
      (["12'345.5"], .double, ["decimal": ".", "grouping": "'"]),
      // One and a bit, or more than a thousand?
      (["1,234", "5,678"], .string, [:]), (["1,5", "1.5"], .string, [:]), (["1.234", "2.5"], .double, [:]),
      (["12,345.6", "x"], .string, [:]), (["1.2.3"], .string, [:]), (["1,23,456"], .string, [:]),
      (["31.12.2026", "01.02.2027"], .date, ["dates": "dd.MM.yyyy"]), (["1.2.2026"], .date, ["dates": "d.M.yyyy"]),
      (["31/12/2026 18:30", "01/02/2026 00:00"], .date, ["dates": "dd/MM/yyyy HH:mm"]),
      (["12/31/2026", "1/2/2026"], .date, ["dates": "M/d/yyyy"]),
      (["12/31/2026 6:30 PM"], .date, ["dates": "MM/dd/yyyy h:mm a"]),
      (["3 Apr 2026"], .date, ["dates": "d MMM yyyy"]), (["2026/12/31"], .date, ["dates": "yyyy/MM/dd"]),
      // Which of them is the month?
      (["01/02/2026", "03/04/2026"], .string, [:]), (["31.02.2026"], .string, [:]),
      (["31.12.2026", "2026-12-31"], .string, [:]),
    ] as [([String], GuessedType, [String: String])])
  func foreign(values: [String], type: GuessedType, keys: [String: String]) {
    let guess = guess(values)
    #expect(guess.type == type)
    #expect(Dictionary(uniqueKeysWithValues: guess.spelling.keys.map { ($0.name, $0.value) }) == keys)
  }

  private static let prices = (0..<99).map { "\($0).25" }

  @Test(
    "The reason for a type says what keeps a column from being more than text, and where",
    arguments: [
      (["-7", "70000"], "whole numbers from -7 to 70000"), (["5", "5"], "the whole number 5"),
      (["1", "2.5"], "decimals"),
      (["0.1234567890123456789"], "decimals of more digits than a Double keeps"),
      (["yes", "no"], "words for true and false"),
      (["2024-02-29"], "dates"), (["1.234,5", "2"], "decimals as 1.234,5"), (["31.12.2026"], "dates as dd.MM.yyyy"),
      ([], "no record has a value"), (["Ada", "7", "Bob"], "no narrower type fits, first: line 2 \"Ada\""),
      (
        Self.prices + ["n/a"],
        "99 % are decimals, first other: line 101 \"n/a\"; it is no value with --null \"n/a\""
      ),
      (
        ["-", "1", "-", "2", "3"],
        "60 % are whole numbers, first other: line 2 \"-\"; all others are that, too, and it is no value with --null \"-\""
      ),
      (["1", "2", "3", "12x"], "75 % are whole numbers, first other: line 5 \"12x\""),
      (["7", "8", "007"], "66 % are whole numbers, first other: line 4 \"007\""),
      ((0..<999).map { "\($0)" } + ["x", "y"], "99.8 % are whole numbers, first other: line 1001 \"x\""),
      (
        ["31.12.2026", "1.1.2027", "soon"],
        "66 % are dates as d.M.yyyy, first other: line 4 \"soon\"; it is no value with --null \"soon\""
      ),
      (["1.10", "2"], "decimals, written as versions or sections are, with zeros that a number would lose"),
      (["01/02/2026", "03/04/2026"], "dates, nothing tells the day from the month, as in 01/02/2026"),
      (["1,234"], "numbers, nothing tells decimal characters from those between groups, as in 1,234"),
      (["1234567890123456789012345678901234567890"], "numbers, of more digits than any type of number holds"),
      (["n", "n"], "one letter, which may mean anything"),
    ] as [([String], String)])
  func explanations(values: [String], expected: String) {
    #expect(guess(values).explanation == expected)
  }

  @Test(
    "A few values of another kind are tolerated, and of several types the one with fewest of them wins",
    arguments: [
      (Self.prices + ["n/a"], 0.01, GuessedType.double, 1), (Self.prices + ["n/a"], 0.009, .string, 0),
      (Self.prices + ["n/a", "?"], 0.5, .double, 2), (["1.5", "1,234.5", "2,000.0", "x"], 0.5, .double, 1),
      (["x", "31.12.2026", "1.1.2027"], 0.4, .date, 1), (["x", "y", "1"], 0.5, .string, 0),
      // A Double holds them all; nothing is to be tolerated.
      (["1", "2", "3.5"], 0.5, .double, 0), (["yes", "no", "perhaps"], 0.4, .boolean, 1),
    ] as [([String], Double, GuessedType, Int64)])
  func tolerance(values: [String], tolerance: Double, type: GuessedType, tolerated: Int64) {
    let guess = guess(values, tolerance: tolerance)
    #expect(guess.type == type)
    #expect(guess.toleratedCount == tolerated)
  }

  @Test("Words for no value count as none, keys are checked for blanks and repeats, and references for their end")
  func demands() throws {
    var demands = TableDemands()
    demands.nullWords = ["n/a", "-"]
    demands.key = ["a"]
    let table = try TableGuess(openSource("a,b\n1,n/a\n2,7\n1,-\n,8\n\"-\",9\n".utf8), demands)
    #expect(table.columns[1].type == .integer16 && table.columns[1].isOptional(records: table.records))
    #expect(table.key?.repeats.text == "line 4 (as line 2)")
    #expect(table.key?.blanks.text == "lines 5, 6")
    var leading = TableDemands()
    leading.references = ["x": try #require(table.key)]
    let other = try TableGuess(openSource("x\n2\n3\n1\n9\n".utf8), leading)
    #expect(other.references["x"]?.text == "lines 3, 5")
    #expect(other.index(of: "y") == nil && other.index(of: "1") == nil)
  }

  @Test("A value that comes last changes the type, however many came before")
  func lastValue() throws {
    let rows = (0..<20_000).map { "\($0 % 100),\($0 % 100),2024-01-01\n" }.joined()
    let table = try TableGuess(openSource("a,b,c\n\(rows)100000,1.5,soon\n".utf8))
    #expect(table.columns.map(\.type) == [.integer32, .double, .string])
    #expect(table.records == 20_001)
  }

  @Test(
    "Pairs with a comma are texts where the same input writes decimal points",
    arguments: [
      ("a;b\n1,7;362.10\n6,2;3.50\n", [GuessedType.string, .double]),
      ("a;b\n1,7;362\n6,2;35\n", [.double, .integer16]),
      // Groups leave no doubt.
      ("a;b\n1.234,7;362.10\n6,2;3.50\n", [.double, .double]),
    ])
  func pairs(text: String, types: [GuessedType]) throws {
    #expect(try TableGuess(openSource(text.utf8)).columns.map(\.type) == types)
  }

  @Test("A column is optional if a record has nothing for it")
  func optional() {
    #expect(!guess(["1", "2"]).isOptional(records: 2))
    #expect(guess(["1", ""]).isOptional(records: 2))
    #expect(guess(["1"]).isOptional(records: 2))
    // A text without characters is a text, but no number.
    #expect(!guess(["a", ""], .quotedText).isOptional(records: 2))
    #expect(guess(["1", ""], .quotedText).isOptional(records: 2))
  }

  @Test("In JSON, a text in quotes is no number, and what has no simple value is kept as its text")
  func json() throws {
    let text = """
      {"zip": "08123", "n": 1, "on": true, "at": "2024-01-01", "tags": [1], "o": {"x": 1.5}, "mixed": 1}
      {"zip": "08124", "n": null, "on": false, "at": "2024-01-02", "tags": [], "o": {"y": 2}, "mixed": "1"}
      """
    let table = try TableGuess(openSource(text.utf8) { $0.flattensObjects = true })
    #expect(table.names == ["zip", "n", "on", "at", "tags", "o.x", "mixed", "o.y"])
    #expect(
      table.columns.map(\.type) == [
        .string, .integer16, .boolean, .date, .string, .double, .string, .integer16,
      ])
    #expect(table.columns.map { $0.isOptional(records: 2) } == [false, true, false, false, false, true, false, true])
  }

  @Test("Records that can't be read count for nothing, and are told")
  func badRecords() throws {
    let table = try TableGuess(openSource("a,b\n1,2\nx\n3,\"y\"z\n5,6\n".utf8))
    #expect(table.columns.map(\.type) == [.integer16, .integer16])
    #expect((table.records, table.badRecords) == (2, 2))
    #expect(table.errors.map(\.rule) == ["fieldCount", "textAfterQuote"])
  }
}
