import Foundation
import RecordInput
import Testing

@Suite("Blocks and positions of sources")
struct ResumeTests {
  struct Input: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    var format: InputFormat?
    var path: [String]?
    var columns: [String]?
    var skipLines = 0
    var maxRecordSize = 1 << 20
    var raggedRows = RaggedRows.error
    var hasHeader: Bool?

    func apply(_ options: inout InputOptions) {
      (options.format, options.path, options.columns) = (format, path, columns)
      (options.skipLines, options.maxRecordSize, options.raggedRows) = (skipLines, maxRecordSize, raggedRows)
      options.hasHeader = hasHeader
    }
  }

  static let inputs = [
    Input(
      testDescription: "CSV", text: "\u{FEFF}a,b\r\n1,\"x\r\n\"\"y\"\"\"\r\n\r\n2\n3,ä\"\n4,5,6\n7,8", format: .csv),
    Input(testDescription: "padded CSV", text: "1,2\n3\n4,5,6\n7,8", format: .csv, raggedRows: .fit, hasHeader: false),
    Input(testDescription: "skipped lines", text: "one\r\ntwo\ra;b\n1;2\n3;4\n", skipLines: 2),
    Input(
      testDescription: "NDJSON",
      text: "{\"a\":1}\n\n \r\n{\"b\":[1,\n{\"a\":\"\\u00e4\\\"\",\"c\":{\"d\":null}}\r\n{\"a\":2}",
      format: .ndjson, columns: ["a", "b", "c.d"]),
    Input(testDescription: "lines of arrays", text: "[1,2]\n[3]\n\n[4,5]\n7\n", format: .ndjson, raggedRows: .pad),
    Input(
      testDescription: "an array",
      text: "\u{FEFF} [ {\"a\":1} ,\n{\"a\":\"]\\\\\\\"\"}, 7,{\"a\":01}\n,,{\"a\":{\"b\":[]}}\n]\n ",
      format: .json, columns: ["a"]),
    Input(
      testDescription: "an array inside",
      text: "{\"x\":[1,2,\"}\"],\"k\\u0065y\":{\"y\":{},\"d\":[{\"a\":1},{\"a\":2}],\"z\":[[]]},\"l\":\"]\"}\n",
      format: .json, path: ["key", "d"], columns: ["a"]),
    Input(testDescription: "a whole text", text: "{\n\"a\":\n1}\n", format: .json, columns: ["a"]),
    Input(
      testDescription: "large records",
      text: "[{\"a\":1},{\"a\":\"0123456789\\\"0123456789\"},{\"a\":[[[[[[[[[[[[]]]]]]]]]]]]},{\"a\":2}]",
      format: .json, columns: ["a"], maxRecordSize: 12),
    Input(
      testDescription: "large lines", text: "{\"a\":1}\n{\"a\":\"0123456789\\\"0123456789\"}\n{\"a\":2}\n",
      format: .ndjson,
      columns: ["a"], maxRecordSize: 12),
    Input(testDescription: "a cut array", text: "[{\"a\":1},{\"a\":2}, {\"a\":", format: .json, columns: ["a"]),
  ]

  @Test("Blocks of every size give the same records", arguments: inputs)
  func blocks(input: Input) throws {
    let whole = try read(input.text, input.apply)
    #expect(!whole.records.isEmpty)
    for size in 1...40 {
      let result = try read(input.text) {
        input.apply(&$0)
        $0.blockSize = size
      }
      #expect(result == whole, "blocks of \(size)")
    }
  }

  @Test("A source that goes on behind a record gives the records that follow it", arguments: inputs)
  func positions(input: Input) async throws {
    let whole = try read(input.text, input.apply)
    let gzip = try await packed(input.text.utf8, "gzip -c")
    let utf16 = try #require(input.text.data(using: .utf16BigEndian))
    for bytes in [Array(input.text.utf8), gzip, Array(utf16)] {
      let source = try openSource(bytes) {
        input.apply(&$0)
        $0.blockSize = 16
        if bytes == Array(utf16) { $0.encoding = .utf16BigEndian }
      }
      #expect(Reading(source) == whole)
      for (index, record) in whole.records.enumerated() {
        let rest = Reading(source, from: record.next)
        #expect(rest.records == Array(whole.records[(index + 1)...]), "behind record \(index)")
        #expect(rest.failure == whole.failure)
      }
      #expect(Reading(source, from: source.start) == whole)
    }
  }
}
