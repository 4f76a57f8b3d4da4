import JSONText
import Testing

@Suite("The grammar of JSON")
struct JSONGrammarTests {
  /// A character that no literal may hold.
  private static func character(_ code: UInt32) -> JSONValue {
    .string(String(Unicode.Scalar(code)!))
  }

  // The themes are those of N. Seriot's "Parsing JSON is a minefield": what parsers are known to get wrong.
  static let accepted: [(String, JSONValue)] = [
    ("[]", []), ("{}", [:]), (" [ ] ", []), ("[[]   ]", [[]]), ("[\"\"]", [""]), ("[\"a\"]", ["a"]),
    ("[false]", [false]),
    ("[null]", [nil]), ("[true]", [true]), ("null", nil), ("true", true), ("false", false), ("42", 42), ("-1", -1),
    ("-0.1", -0.1), ("\"asd\"", "asd"), ("\"\"", ""), ("\n[1\n]\r\n\t", [1]), ("[1,null,null,2]", [1, nil, nil, 2]),
    ("[null, 1, \"1\", {}]", [nil, 1, "1", [:]]), ("[ 4]", [4]), ("[2] ", [2]), ("[true]\n", [true]),
    ("0", 0), ("-0", 0), ("[-0]", [0]), ("-0.0", .number(-0.0)), ("0e1", 0.0), ("0e+1", 0.0), ("1E22", 1e22),
    ("1E-2", 0.01), ("1E+2", 100.0), ("123e45", 123e45), ("123e-10000000", 0.0), ("1e1", 10.0), ("20e1", 200.0),
    ("123.456e78", 123.456e78), ("1.0", 1.0), ("123.456789", 123.456789), ("0.5", 0.5), ("1.5e-9", 1.5e-9),
    ("0.0000000000000000000000000000000000000000000000000000000000000000001", 1e-67), ("1e-400", 0.0),
    ("1e-18446744073709551617", 0.0), ("1e0000000000000000000000000000000000000001", 10.0),
    ("9223372036854775807", 9_223_372_036_854_775_807), ("-9223372036854775808", -9_223_372_036_854_775_808),
    ("9223372036854775808", 9_223_372_036_854_775_808.0), ("-18446744073709551616", -18_446_744_073_709_551_616.0),
    ("18446744073709551616", 18_446_744_073_709_551_616.0), ("100000000000000000000", 1e20),
    ("0.1000000000000000055511151231257827", 0.1), ("9007199254740993", 9_007_199_254_740_993),
    ("9007199254740993.0", 9_007_199_254_740_992.0), ("9007199254740993e0", 9_007_199_254_740_992.0),
    ("1.7976931348623157e308", .number(.greatestFiniteMagnitude)), ("5e-324", .number(.leastNonzeroMagnitude)),
    ("2.2250738585072014e-308", .number(.leastNormalMagnitude)),
    ("123456789012345678901234567890e0", 123456789012345678901234567890.0),
    ("\"\\u0060\\u012a\\u12AB\"", "`Īካ"), ("\"\\u0821 \\u0421\"", "ࠡ С"), ("\"\\uD801\\udc37\"", "𐐷"),
    ("\"\\ud83d\\ude39\\ud83d\\udc8d\"", "😹💍"), ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\u{8}\u{C}\n\r\t"),
    ("\"\\\\u0000\"", "\\u0000"), ("\"\\\"\"", "\""), ("\"\\\\a\"", "\\a"), ("\"\\\\n\"", "\\n"), ("\"\\u0000\"", "\0"),
    ("\"\\u0012\"", "\u{12}"), ("\"\\uFFFF\"", character(0xFFFF)), ("\"\\uDBFF\\uDFFE\"", character(0x10FFFE)),
    ("\"\\uD83F\\uDFFE\"", character(0x1FFFE)), ("\"\\uFDD0\"", character(0xFDD0)), ("\"\\uFFFE\"", character(0xFFFE)),
    ("\"\\u200B\"", "\u{200B}"), ("\"\\u2064\"", "\u{2064}"), ("\"\\u0061\\u30af\\u30EA\\u30b9\"", "aクリス"),
    ("\"new\\u00A0line\"", "new\u{A0}line"), ("\"\\u0022\"", "\""), ("\"\\u005C\"", "\\"), ("\"\u{7F}\"", "\u{7F}"),
    ("\"\u{2028}\u{2029}\"", "\u{2028}\u{2029}"), ("\"€𝄞\"", "€𝄞"), ("\"\u{10FFFF}\"", "\u{10FFFF}"),
    ("\"⍂㈴⍂\"", "⍂㈴⍂"), ("\"\u{FEFF}\"", "\u{FEFF}"), ("\"a/*b*/c/*d//e\"", "a/*b*/c/*d//e"), ("\" \"", " "),
    ("\"'\"", "'"), ("\"\u{1B74D}\"", "\u{1B74D}"), ("{\"a\":[]}", ["a": []]), ("{\"\":0}", ["": 0]),
    ("{\"a\":\"b\"}", ["a": "b"]), ("{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", ["asd": "sdf", "dfg": "fgh"]),
    ("{\"foo\\u0000bar\": 42}", ["foo\0bar": 42]),
    ("{ \"min\": -1.0e+28, \"max\": 1.0e+28 }", ["min": -1e28, "max": 1e28]),
    ("{\"title\":\"\\u041f\\u043e\"}", ["title": "По"]), ("{\n\"a\": \"b\"\n}", ["a": "b"]),
    ("{\"a\":1,\"A\":2}", ["a": 1, "A": 2]),
    ("{\"x\":[{\"id\": \"y\"}], \"id\": \"z\"}", ["x": [["id": "y"]], "id": "z"]),
    ("\u{FEFF}[1]", [1]),
  ]

  @Test("Valid texts are read as what they mean", arguments: accepted)
  func valid(text: String, value: JSONValue) throws {
    let parsed = try JSONValue(text)
    #expect(parsed == value)
    #expect(parsed.serialized() == value.serialized())
    #expect(try JSONValue(text, .json5) == value)
  }

  static let refused: [String] = [
    "", " ", "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]",
    "[\"\"",
    "[x", "[3[4]]", "[1:2]", "[\"\": 1]", "[-]", "[   , \"\"]", "[*]", "[1}", "[\"a\",4,1,", "[{}", "[][]", "[]x",
    "[1]x",
    "[fals]", "[nul]", "[tru]", "[truefalse]", "[nulll]", "[True]", "[TRUE]", "True", "nul", "[-true]", "[\\n]",
    "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-012]", "[-1.0.]", "[-2.]", "[-NaN]", "[-Infinity]", "[Infinity]", "[NaN]",
    "[.-1]", "[.2e-3]", "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E]", "[0E+]", "[0e]", "[0e+]", "[00]", "[1 000.0]",
    "[1.0e+]", "[1.0e-]", "[1.0e]", "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]", "[9.e+]", "[0x1]", "[0x42]", "[1+2]",
    "[-foo]", "[- 1]", "[-.123]", "[1.]", "[.123]", "[1.2a-3]", "[1ea]", "[1e1e1]", "[012]", "[-1x]",
    "[1.8011670033376514H-308]",
    "[1_000]", "1e309", "-1e309", "[\u{FF11}]", "{\"a\":", "{\"a\"", "{\"a", "{\"a\":\"a", "{\"a\":1,", "{\"a\":1,}",
    "{\"a\":1,,}",
    "{,}", "{\"a\" b}", "{\"a\", \"b\"}", "{\"x\"::\"b\"}", "{\"x\", null}", "{:\"b\"}", "{\"a\" \"b\"}", "{a: \"b\"}",
    "{'a':0}",
    "{1:1}", "{9999E9999:1}", "{null:null}", "{[: \"x\"}", "{\"a\":\"b\"}#", "{\"a\":\"b\"}/**/", "{\"a\":/*c*/\"b\"}",
    "{\"a\":\"b\"}//",
    "{\"a\":\"b\"}/", "{\"a\": true} \"x\"", "{}}", "{{}}", "{\"a\":\"a\" 123}", "{\"id\":0,,,}", "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"\\u0061\":1}",
    "{💩}", "\"", "'a'", "\"a", "\"\\\"", "\"\\", "\"\\x00\"", "\"\\a\"", "\"\\u\"", "\"\\u1\"", "\"\\u00A\"",
    "\"\\u{1}\"", "\"\\u 123\"",
    "\"\\uqqqq\"", "\"\\U0041\"", "\"\\'\"", "\"\\🌀\"", "\"\\\u{0}\"", "\"\\\t\"", "\"\\uD800\\u\"", "\"\\uD800\\u1\"",
    "\"\\uD800\\u1x\"", "\"\\uD834\\uDd\"", "\"\\uD888\\u1234\"", "\"\\uDd1e\\uD834\"", "\"\\uD800\\uD800\\n\"",
    "\"\\ud800abc\"", "\"\\udfff\"",
    "\"a\u{0}a\"", "\"new\nline\"", "\"\t\"", "\"\r\"", "\"\u{1F}\"", "\"\"x", "abc", "é", "\\u000A\"\"", "<null>",
    "[<null>]", "*", "@",
    "[a", "[\"asd]", "aå", "[True", "{\"a\": 1 true", "1]", "2@", "//", "/**/1", "#", "\u{C}[]", "[\u{C}]", "[\u{B}]",
    "\u{A0}[]", "[\u{2060}]",
    "[\u{FEFF}]", "\u{FEFF}\u{FEFF}1", "\u{FEFF}", "[\u{0}]", "1\u{0}", "\u{0}", "[1]\u{0}", "`a`", "(1)", "[1;2]",
    "{\"a\":1;}", "undefined",
  ]

  @Test("Invalid texts are refused", arguments: refused)
  func invalid(text: String) {
    #expect(failure(of: Array(text.utf8)) != nil)
  }

  @Test(
    "Malformed UTF-8 is refused, in strings and outside",
    arguments: [
      [0x80], [0xFF], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
      [0xED, 0xBF, 0xBF],
      [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
      [0xC3],
      [0xE2, 0x82], [0xF0, 0x9F, 0x99], [0xC3, 0x28], [0xE2, 0x28, 0xA1], [0xFE], [0xBF, 0xC3], [0xEF, 0xBB],
    ] as [[UInt8]])
  func encoding(bytes: [UInt8]) {
    for prefix in ["", "\"", "\"padding so that whole words are scanned "] {
      let text = Array(prefix.utf8) + bytes + Array((prefix.isEmpty ? "" : "\"").utf8)
      #expect(failure(of: text)?.code == .notUTF8)
      #expect(failure(of: text, .json5)?.code == .notUTF8)
    }
  }

  @Test(
    "JSON5 has comments, trailing commas, single quotes, unquoted keys, hexadecimal numbers and more white space",
    arguments: [
      ("// a\n1", 1), ("1 // a", 1), ("1 // a\r// b\u{2028}/* c */", 1), ("/* * / ** **/1/**/", 1), ("[1,]", [1]),
      ("[1,// a\n]", [1]), ("{a:1,}", ["a": 1]), ("{a:1 , /* b */ }", ["a": 1]), ("'it\"s'", "it\"s"),
      ("\"it's\"", "it's"),
      ("'\\''", "'"), ("{'a b':1}", ["a b": 1]),
      ("{$_a1:1,_:2,ünïcode:3,ключ:4}", ["$_a1": 1, "_": 2, "ünïcode": 3, "ключ": 4]),
      ("{null:1,true:2,Infinity:3}", ["null": 1, "true": 2, "Infinity": 3]), ("0xdecaf", 0xDECAF), ("-0XC8", -200),
      ("+0x1", 1),
      ("0x7fffffffffffffff", .integer(.max)), ("-0x8000000000000000", .integer(.min)),
      ("0x8000000000000000", .number(0x1p63)),
      ("-0x10000000000000000", .number(-0x1p64)), ("+1", 1), ("+1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("-.5e1", -5.0),
      ("5.e1", 50.0),
      ("+.5", 0.5), ("'a\\\nb'", "ab"), ("'a\\\r\nb\\\rc'", "abc"), ("'a\\\u{2028}b\\\u{2029}c'", "abc"),
      ("'\\v\\0\\x41\\q\\é'", "\u{B}\0Aqé"),
      ("'\\0a'", "\0a"), ("'a\tb\u{1}'", "a\tb\u{1}"), ("'\u{2028}'", "\u{2028}"),
      ("\u{A0}\u{B}\u{C}\u{2003}\u{FEFF}\u{2029}1\u{3000}", 1),
      ("'\\xe9'", "é"), ("'\\ud83d\\ude00'", "😀"),
    ] as [(String, JSONValue)])
  func json5(text: String, value: JSONValue) throws {
    #expect(try JSONValue(text, .json5) == value)
    #expect(failure(of: Array(text.utf8)) != nil || text == "\"it's\"")
  }

  @Test("Bytes may come from anything that has them")
  func sources() throws {
    #expect(try JSONValue(parsing: "[1]".utf8) == [1])
    #expect(try JSONValue(parsing: ContiguousArray("[1]".utf8)) == [1])
    #expect(try JSONValue(parsing: "[1]".utf8.reversed().reversed().lazy.map { $0 }) == [1])
    #expect(try Array("[1]".utf8).withUnsafeBytes { try JSONValue(parsing: $0) } == [1])
    #expect(failure(of: [])?.code == .unexpectedEnd)
    #expect(throws: JSONError.self) { try JSONValue(parsing: UnsafeRawBufferPointer(start: nil, count: 0)) }
  }
}
