import JSONText
import Testing

@Suite("Values of JSON")
struct JSONValueTests {
  @Test("Every kind of value can be written as a literal")
  func literals() throws {
    let value: JSONValue = [
      "null": nil, "bool": true, "integer": -7, "number": 0.5, "string": "a\(1)", "array": [1, "b"], "object": ["k": 2],
    ]
    let text = #"{"null":null,"bool":true,"integer":-7,"number":0.5,"string":"a1","array":[1,"b"],"object":{"k":2}}"#
    #expect(value.serialized() == text)
    #expect(try JSONValue(text) == value)
  }

  @Test("Accessors give what a value is, and nil for every other kind")
  func accessors() {
    let values: [JSONValue] = [nil, true, 1, 0.5, "s", [2], ["k": 3]]
    #expect(values.map(\.isNull) == [true, false, false, false, false, false, false])
    #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil, nil])
    #expect(values.map(\.integer) == [nil, nil, 1, nil, nil, nil, nil])
    #expect(values.map(\.number) == [nil, nil, 1, 0.5, nil, nil, nil])
    #expect(values.map(\.string) == [nil, nil, nil, nil, "s", nil, nil])
    #expect(values.map(\.array) == [nil, nil, nil, nil, nil, [2], nil])
    #expect(values.map(\.object) == [nil, nil, nil, nil, nil, nil, ["k": 3]])
    #expect(values.map { $0["k"] } == [nil, nil, nil, nil, nil, nil, 3])
    #expect(
      values.map(\.kindName) == [
        "null", "a boolean", "an integer", "a number", "a string", "an array", "an object",
      ])
  }

  @Test("A number without a fraction counts as an integer if it fits")
  func wholeNumbers() {
    #expect(JSONValue.number(4).integer == 4)
    #expect(JSONValue.number(4.5).integer == nil)
    #expect(JSONValue.number(1e300).integer == nil)
    #expect(JSONValue.number(.nan).integer == nil)
  }

  @Test("An object of any size finds, replaces, adds and removes keys, and keeps their order", arguments: 0...40)
  func objects(count: Int) {
    var object = JSONObject()
    for index in 0..<count { object["k\(index)"] = .integer(Int64(index)) }
    #expect(object.keys == (0..<count).map { "k\($0)" })
    #expect((0..<count).allSatisfy { object["k\($0)"] == .integer(Int64($0)) })
    #expect(object["k\(count)"] == nil)
    guard count > 0 else { return }
    object["k0"] = "new"
    #expect(object.first?.key == "k0" && object.first?.value == "new")
    object["k0"] = nil
    #expect(object.keys == (1..<count).map { "k\($0)" })
    #expect((1..<count).allSatisfy { object["k\($0)"] == .integer(Int64($0)) })
  }

  @Test("Objects are equal whatever way they were made, and differ by order")
  func equality() {
    var grown = JSONObject()
    for index in 0..<20 { grown["\(index)"] = 1 }
    for index in 2..<20 { grown["\(index)"] = nil }
    let literal: JSONObject = ["0": 1, "1": 1]
    #expect(grown == literal)
    #expect(grown.hashValue == literal.hashValue)
    #expect(literal != ["1": 1, "0": 1])
  }

  @Test("Pretty text has a line for each member and none for what is empty")
  func pretty() {
    let value: JSONValue = ["a": [1, ["b": []]], "c": [:]]
    let expected = """
      {
        "a": [
          1,
          {
            "b": []
          }
        ],
        "c": {}
      }
      """
    #expect(value.serialized(pretty: true) == expected)
  }

  @Test("Strings are escaped as RFC 8259 demands, and only so")
  func escaping() {
    let value: JSONValue = "\"\\/\u{0}\u{8}\u{9}\u{A}\u{B}\u{C}\u{D}\u{1F}\u{7F}é\u{2028}🙂"
    #expect(value.serialized() == "\"\\\"\\\\/\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\u{7F}é\u{2028}🙂\"")
  }

  @Test("What is no number is written as null")
  func notFinite() {
    let value: JSONValue = [.number(.nan), .number(.infinity), .number(-.infinity)]
    #expect(value.serialized() == "[null,null,null]")
  }
}
