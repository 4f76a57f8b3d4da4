import JSONText
import Testing

@Suite("Errors in JSON")
struct JSONErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let text: String
    let description: String
    var testDescription: String { text.debugDescription }

    init(_ text: String, _ description: String) {
      self.text = text
      self.description = description
    }
  }

  @Test(
    "An error of JSON says where it is, what was expected and what was found",
    arguments: [
      Case("", "line 1, column 1: the text is empty"),
      Case(" \n ", "line 2, column 2: the text ends before its value"),
      Case("{\n  \"a\": 1,\n  \"b\": tru}", "line 3, column 8: expected a value, found \"tru\"; did you mean true?"),
      Case("\"\\n\t\"", "line 1, column 4: a tab inside a string; write \\t"),
      Case("truex", "line 1, column 1: expected a value, found \"truex\"; put text in double quotes"),
      Case("False", "line 1, column 1: expected a value, found \"False\"; did you mean false?"),
      Case("[None]", "line 1, column 2: expected a value, found \"None\"; did you mean null?"),
      Case("[encode]", "line 1, column 2: expected a value, found \"encode\"; put text in double quotes"),
      Case("['a']", "line 1, column 2: expected a value, found \"'\"; strings take double quotes"),
      Case("[\n{\"a\": [1]", "line 2, column 10: the text ends inside an object that begins at line 2"),
      Case("{\"a\": [1,\n", "line 2, column 1: the text ends inside an array that begins at line 1"),
      Case("\n[\"ab", "line 2, column 5: the text ends inside a string that begins at line 2, column 2"),
      Case("\"ab\\", "line 1, column 5: the text ends inside a string that begins at column 1"),
      Case("\"\\u00", "line 1, column 6: the text ends inside a string that begins at column 1"),
      Case(
        "{\"type\": 1,\n \"a\": 2, \"type\": 3}", "line 2, column 10: the key \"type\" occurs twice; first at line 1"),
      Case("{\"a\":{\"b\":1,\r\n\"b\":2}}", "line 2, column 1: the key \"b\" occurs twice; first at line 1"),
      Case("{\"\\u0061\":1,\r\r\"a\":2}", "line 3, column 1: the key \"a\" occurs twice; first at line 1"),
      Case("[1,]", "line 1, column 3: a comma before the closing \"]\"; remove it"),
      Case("{\"a\":1 , }", "line 1, column 8: a comma before the closing \"}\"; remove it"),
      Case("[1 2]", "line 1, column 4: expected \",\" or \"]\" after an element, found \"2\""),
      Case("{\"a\":1 \"b\":2}", "line 1, column 8: expected \",\" or \"}\" after a value, found a quote"),
      Case("{\"a\"=1}", "line 1, column 5: expected \":\" after the key \"a\", found \"=\""),
      Case("{\"a\"", "line 1, column 5: the text ends inside an object that begins at column 1"),
      Case("{a:1}", "line 1, column 2: expected a key, found \"a\"; put it in double quotes"),
      Case("{'a':1}", "line 1, column 2: expected a key, found \"'\"; keys take double quotes"),
      Case("{,}", "line 1, column 2: expected a key in quotes, found \",\""),
      Case("1 x", "line 1, column 3: expected the end of the text after its value, found \"x\""),
      Case("1\n// no", "line 2, column 1: a comment, which JSON doesn't have; remove it"),
      Case("\"é\\q\"", "line 1, column 3: \"\\q\" is not an escape; write \\\\ for a backslash"),
      Case("\"\\\n\"", "line 1, column 2: a backslash before U+000A is not an escape; write \\\\ for a backslash"),
      Case("\"\\u12G4\"", "line 1, column 6: expected 4 hexadecimal digits after \"\\u\", found \"G4\""),
      Case("\"\\uD800\"", "line 1, column 2: \"\\uD800\" is half of a surrogate pair, which is not a character"),
      Case("\"\\uDC00\"", "line 1, column 2: \"\\uDC00\" is half of a surrogate pair, which is not a character"),
      Case(
        "\"\\uD800\\uD800\"", "line 1, column 2: \"\\uD800\" is half of a surrogate pair, which is not a character"),
      Case("\"\\uD800\\n\"", "line 1, column 2: \"\\uD800\" is half of a surrogate pair, which is not a character"),
      Case("[\"a\tb\"]", "line 1, column 4: a tab inside a string; write \\t"),
      Case(
        "[\"a\nb\"]", "line 1, column 4: a line ends inside the string that begins at column 2; close it, or write \\n"),
      Case("\"\u{1}\"", "line 1, column 2: the control character U+0001 inside a string; write \\u0001"),
      Case("[01]", "line 1, column 2: a number begins with 0; remove the zeros"),
      Case("[-]", "line 1, column 3: expected a digit after \"-\", found \"]\""),
      Case("[1.]", "line 1, column 4: expected a digit after \"1.\", found \"]\""),
      Case("[1e+]", "line 1, column 5: expected a digit after \"1e+\", found \"]\""),
      Case("1e", "line 1, column 3: the text ends inside a number"),
      Case("[.5]", "line 1, column 2: expected a value, found \".5\"; write 0 before the point"),
      Case("[+5]", "line 1, column 2: expected a value, found \"+5\"; remove the plus sign"),
      Case("[1e400]", "line 1, column 2: the number \"1e400\" is too large; 1.8e308 is the largest"),
      Case(
        "[18446744073709551615]",
        "line 1, column 2: the whole number \"18446744073709551615\" is too large to be kept exactly; write it as a "
          + "text, or with an exponent"),
      Case(
        "[-9223372036854775809]",
        "line 1, column 2: the whole number \"-9223372036854775809\" is too large to be kept exactly; write it as a "
          + "text, or with an exponent"),
      Case("[NaN]", "line 1, column 2: NaN is not a number that JSON can carry; write null or a string"),
      Case("-Infinity", "line 1, column 1: -Infinity is not a number that JSON can carry; write null or a string"),
      Case("\u{FEFF}[x", "line 1, column 2: expected a value, found \"x\"; put text in double quotes"),
      Case("[\u{0}]", "line 1, column 2: expected a value, found U+0000"),
      Case("[\u{202E}]", "line 1, column 2: expected a value, found U+202E"),
      Case("[🙂]", "line 1, column 2: expected a value, found \"🙂\"; put text in double quotes"),
    ])
  func json(_ example: Case) {
    #expect(failure(of: Array(example.text.utf8))?.description == example.description)
  }

  @Test(
    "An error of JSON5 says where it is, what was expected and what was found",
    arguments: [
      Case("// a\n/* b", "line 2, column 5: the text ends inside a comment that begins at line 2, column 1"),
      Case("// a", "line 1, column 5: the text ends before its value"),
      Case("{1a: 1}", "line 1, column 2: expected a key, found \"1a\"; put it in double quotes"),
      Case("{\\u0061: 1}", "line 1, column 2: expected a key, found \"\\\"; put a key with escapes in quotes"),
      Case(
        "{a-b: 1}", "line 1, column 3: expected \":\" after the key \"a\", found \"-b\"; put the whole key in quotes"),
      Case("{a: 1, 'a': 2}", "line 1, column 8: the key \"a\" occurs twice; first at line 1"),
      Case("[,]", "line 1, column 2: expected a value, found \",\""),
      Case("[1,,]", "line 1, column 4: expected a value, found \",\""),
      Case(
        "[0x1FFFFFFFFFFFFFFFF]",
        "line 1, column 2: the whole number \"0x1FFFFFFFFFFFFFFFF\" is too large to be kept exactly; write it as a text, or "
          + "with an exponent"),
      Case("[0x]", "line 1, column 4: expected a hexadecimal digit after \"0x\", found \"]\""),
      Case("[.]", "line 1, column 3: expected a digit after \".\", found \"]\""),
      Case("[+]", "line 1, column 3: expected a digit after \"+\", found \"]\""),
      Case("[+Infinity]", "line 1, column 2: +Infinity is not a number that JSON can carry; write null or a string"),
      Case("[010]", "line 1, column 2: a number begins with 0; remove the zeros"),
      Case("'\\1'", "line 1, column 2: \"\\1\" is not an escape; write \\\\ for a backslash"),
      Case("'\\01'", "line 1, column 2: \"\\0\" is not an escape; write \\\\ for a backslash"),
      Case("'\\xg0'", "line 1, column 4: expected 2 hexadecimal digits after \"\\x\", found \"g0\""),
      Case("'a\n'", "line 1, column 3: a line ends inside the string that begins at column 1; close it, or write \\n"),
    ])
  func json5(_ example: Case) {
    #expect(failure(of: Array(example.text.utf8), .json5)?.description == example.description)
  }

  @Test("Bytes that are no UTF-8 are refused with their place, a byte order mark being counted only in the offset")
  func encoding() {
    let error = failure(of: [0xEF, 0xBB, 0xBF, 0x0A] + Array("[\"é".utf8) + [0xC0, 0xAF])
    let message = "the byte 0xC0 is not UTF-8; save the text as UTF-8"
    #expect(error == JSONError(code: .notUTF8, line: 2, column: 4, byteOffset: 8, message: message))
    let utf16 = failure(of: [0xFF, 0xFE, 0x5B, 0x00])
    #expect(utf16?.description == "line 1, column 1: the byte 0xFF is not UTF-8; save the text as UTF-8")
  }

  @Test("A long piece of the text is cut in a message")
  func longWords() {
    let word = String(repeating: "x", count: 50)
    let expected = "expected a value, found \"\(word.prefix(40))...\"; put text in double quotes"
    #expect(failure(of: Array("[\(word)".utf8))?.message == expected)
  }

  @Test("Containers may be as deep as the limit, not deeper", arguments: ["[", "{\"a\":"])
  func depth(open: String) throws {
    let close = open == "[" ? "]" : "}"
    func text(_ depth: Int) -> String {
      String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
    }
    for limit in [1, 64, 512] {
      let limits = JSONLimits(depth: limit)
      _ = try JSONValue(text(limit), limits: limits)
      let error = try #require(failure(of: Array(text(limit + 1).utf8), limits: limits))
      #expect(error.code == .tooDeep)
      #expect(error.byteOffset == limit * open.utf8.count)
    }
  }

  @Test("A hundred thousand open brackets are an error, not a crash", arguments: ["[", "{\"a\":", "[{\"a\":"])
  func manyBrackets(_ bracket: String) {
    let error = failure(of: Array(String(repeating: bracket, count: 100_000).utf8))
    #expect(error?.message == "more than 64 arrays and objects inside each other")
  }

  @Test("Of a key that occurs twice the last value counts if the caller wants it so")
  func lastValue() throws {
    let value = try JSONValue("{\"a\":1,\"b\":2,\"a\":3}", limits: JSONLimits(duplicateKeys: .useLast))
    #expect(value == ["a": 3, "b": 2])
  }

  @Test("A duplicate key is found among many too")
  func manyKeys() {
    let members = (0..<1000).map { "\"k\($0)\":\($0)" }.joined(separator: ",\n")
    let error = failure(of: Array("{\(members),\n\"k500\":1}".utf8))
    #expect(error?.description == "line 1001, column 1: the key \"k500\" occurs twice; first at line 501")
  }
}
