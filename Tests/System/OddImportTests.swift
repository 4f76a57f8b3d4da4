import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("An import of a file as others leave it")
  struct OddImports {
    private static let model = TestModel.model(
      """
      <entity name="Item" representedClassName="Item" syncable="YES">
        <attribute name="a" optional="YES" attributeType="String"/>
        <attribute name="b" optional="YES" attributeType="String"/>
      </entity>
      """)

    struct Odd: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let text: String
      var arguments = ""
      /// What is in the table, or why nothing is.
      let expected: String
    }

    static let files = [
      Odd(
        testDescription: "an unclosed quote",
        text: "a,b\n" + String(repeating: "1,2\n", count: 100) + "1,\"oops\n" + String(repeating: "3,4\n", count: 90),
        arguments: #""maxRejects": "50%""#,
        expected: "line 102, column 3, field 2: the quote opened here is never closed"),
      Odd(testDescription: "empty columns at the end", text: "a,b,,\n1,2,,\n", expected: "1|2"),
      Odd(
        testDescription: "a value without a name", text: "a,b,,\n1,2,,3\n",
        expected: "line 2, column 6, field 4: the header has no name for this value"),
      Odd(
        testDescription: "columns that are there twice and not used", text: "a,x,b,x,,\n1,2,3,4,5,6\n",
        arguments: #""columns": {"a": "a", "b": "b"}"#, expected: "1|3"),
      Odd(
        testDescription: "a column that is there twice and used", text: "a,b,a\n1,2,3\n",
        arguments: #""columns": {"a": "a", "b": "b"}"#, expected: "the header names the column \"a\" twice"),
      Odd(testDescription: "columns as a table has them, not as the model", text: "A,B.\n1,2\n", expected: "1|2"),
      Odd(
        testDescription: "two columns for one attribute", text: "A,a\n1,2\n",
        expected: "column 1: the entity \"Item\" has no attribute \"A\"; did you mean \"a\"?"),
      Odd(testDescription: "a line that names the separator", text: "sep=;\r\na;b\r\n1;2\r\n\u{1A}", expected: "1|2"),
      Odd(testDescription: "an answer without records", text: "{\"items\":[]}", expected: ""),
      Odd(
        testDescription: "an answer with several arrays", text: "{\"items\":[{\"a\":\"1\"}],\"more\":[{\"a\":\"2\"}]}",
        expected: "can't be read: its records may be in any of several arrays (items, more)"),
    ]

    @Test("takes what is clear, and tells what is not", arguments: files)
    func odd(file: Odd) async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot(model: Self.model))
      try daemon.root.payload("odd", file.text)
      let more = file.arguments.isEmpty ? "" : ", " + file.arguments
      let job = try #require(
        try await daemon.submit(
          #"{"type": "import", "id": "odd", "arguments": {"input": "odd", "entity": "Item"\#(more)}}"#
        ).first)
      let rows = try await daemon.root.sql("SELECT a, b FROM Item")
      if job["state"] == "completed" {
        #expect(rows == file.expected)
      } else {
        #expect(rows == "")
        #expect(job["error"]?.string?.contains(file.expected) == true, "\(job.serialized())")
      }
    }

    @Test("keeps what a type can hold digit by digit, and takes nothing else")
    func exactValues() async throws {
      let model = TestModel.model(
        """
        <entity name="Item" representedClassName="Item" syncable="YES">
          <attribute name="d" optional="YES" attributeType="Decimal"/>
          <attribute name="i" optional="YES" attributeType="Integer 64" usesScalarValueType="YES"/>
          <attribute name="u" optional="YES" attributeType="URI"/>
          <attribute name="t" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
        </entity>
        """)
      let daemon = try await DaemonProcess.ready(try DaemonRoot(model: model))
      let good = [
        "12345678901234567890123456789012345678,1e18,http://example.com/a%20b?q#f,0",
        "0.00000000000000000000000000000000000001,9007199254740993.0,mailto:a@example.com,-62135596800",
        "1234567890123456789.0123456789012345678000,7.0,../x,253402300799",
      ]
      let bad = [
        "1234567890123456789012345678901234567891,,,", String(repeating: "9", count: 59) + ",,,",
        "0.123456789012345678901234567890123456789012345,,,", "1e-200,,,", ",0.99999999999999999999,,",
        ",4503599627370496.1,,", ",7.0000000000000000001,,", ",1e-400,,", ",1e19,,", ",,a b,",
        ",,http://müller.de/ü,", ",,http://exa mple.com,", ",,,99999999999999999999", ",,,253402300800",
      ]
      try daemon.root.payload("n.csv", (["d,i,u,t"] + good + bad).joined(separator: "\n"))
      let job = try await daemon.submit(
        """
        {"type": "import", "id": "n", "arguments": {"input": "n.csv", "entity": "Item", "maxRejects": "100%",
         "columns": {"d": "d", "i": "i", "u": "u", "t": {"attribute": "t", "dates": "epoch"}}}}
        """)
      #expect(job.first?["state"]?.string == "completed", "\(job)")
      let rows = try await daemon.root.sql("SELECT d, i, u, CAST(t AS INTEGER) FROM Item ORDER BY t")
      #expect(
        rows == """
          0.00000000000000000000000000000000000001|9007199254740993|mailto:a@example.com|-63113904000
          12345678901234567890123456789012345678|1000000000000000000|http://example.com/a%20b?q#f|-978307200
          1234567890123456789.0123456789012345678|7|../x|252423993599
          """)
      let rejects = try await daemon.tool("rejects", "n")
      #expect(rejects.output.split(separator: "\n").dropFirst().map(String.init) == bad)
      let reasons = try await daemon.tool("rejects", "n", "--json")
      #expect(reasons.output.contains("is not a decimal number of up to 38 digits"), "\(reasons.output.prefix(600))")
    }

    @Test("takes the largest numbers of each type, and none beyond")
    func largestNumbers() async throws {
      let model = TestModel.model(
        """
        <entity name="Item" representedClassName="Item" syncable="YES">
          <attribute name="a" optional="YES" attributeType="Integer 16" usesScalarValueType="YES"/>
          <attribute name="b" optional="YES" attributeType="Integer 32" usesScalarValueType="YES"/>
          <attribute name="c" optional="YES" attributeType="Float" usesScalarValueType="YES"/>
        </entity>
        """)
      let daemon = try await DaemonProcess.ready(try DaemonRoot(model: model))
      let bad = ["32768,0,0", "0,-2147483649,0", "0,0,3.5e38", "0,0,1e400"]
      try daemon.root.payload(
        "n.csv", (["a,b,c", "32767,-2147483648,3.4e38", "-32768,2147483647,-3.4e38"] + bad).joined(separator: "\n"))
      _ = try await daemon.submit(
        #"{"type": "import", "id": "n", "arguments": {"input": "n.csv", "entity": "Item", "maxRejects": "100%"}}"#)
      let rows = try await daemon.root.sql("SELECT a, b, c > 3.3e38, c < -3.3e38 FROM Item ORDER BY a")
      #expect(rows == "-32768|2147483647|0|1\n32767|-2147483648|1|0")
      let rejects = try await daemon.tool("rejects", "n")
      #expect(rejects.output.split(separator: "\n").dropFirst().map(String.init) == bad)
    }
  }
}
