import RecordInput
import Testing

@Suite("How an input is written is found out")
struct DetectionTests {
  @Test(
    "The separator and the quote",
    arguments: [
      ("a,b,c\n1,2,3\n", ",", "\""), ("a;b;c\n1;2;3\n", ";", "\""), ("a\tb\n1\t2\n", "\t", "\""),
      ("a|b\n1|2\n3|4\n", "|", "\""), ("a;b,c,d\n1;2,3,4\n", ",", "\""), ("a,'b'\nc,d\n", ",", "\""),
      ("name;price\nx;1,50\ny;2,25\n", ";", "\""),
      ("1,5;2,5;3,5\n4,1;5,2;6,3\n", ";", "\""),
      ("\"a;b\",\"c\"\n\"1;2\",\"x;y;z\"\n", ",", "\""), ("a\n1\n2\n", ",", "\""), ("", ",", "\""),
      ("'a,b';'c'\n'1,2';'it''s'\n", ";", "'"), ("name,word\nO'Brien,'t\n", ",", "\""),
      ("text,n\n\"one, two; three\",1\n\"x;y\",2\n", ",", "\""), ("a,b|c\n1,2|3\n4,5|6,7\n", "|", "\""),
      ("size\tname\n5\"\tpipe\n\"6\tinch\n", "\t", ""),
    ])
  func dialect(text: String, separator: String, quote: String) throws {
    let dialect = try openSource(text.utf8).form.dialect
    #expect(String(Character(Unicode.Scalar(dialect.separator))) == separator)
    #expect((dialect.quote.map { String(Character(Unicode.Scalar($0))) } ?? "") == quote)
  }

  @Test(
    "The header",
    arguments: [
      ("id,name\n1,a\n", true), ("1,a\n2,b\n", false), ("a,b\nc,d\n", true), ("red,x\ngreen,y\nred,z\n", false),
      ("id,\n1,2\n", true), ("x,\na,b\n", false), ("a,a\n1,2\n", true), ("a,a,b,A,,\n1,2,3,4,5,6\n", true),
      ("a,a\nb,c\n", false), ("2024-01-01,x\n2024-01-02,y\n", false),
      ("Größe\n1\n", true),
      ("-,+\n1,2\n", false),
      // Values of the kind that stands below, though not as ISO 8601 and JSON write it.
      ("\"Dec 8, 2022\"\n\"Dec 9, 2022\"\n", false), ("12/31/2026 6:30 PM\n1/2/2026 6:30 PM\n", false),
      ("01-Jan-26\n02-Jan-26\n", false), ("x;yes\ny;no\n", false), ("true\nfalse\n", false),
      ("x,\"1.234,5\"\ny,\"2,5\"\n", false), ("y,n\ntrue,1\nfalse,2\n", true),
      // A number or a date below a name, whatever is repeated elsewhere.
      ("a,b,c\n1,b,c\n2,b,c\n", true), ("a,b\n2026-01-01,b\n", true), ("red,n/a\ngreen,3\nred,4\n", false),
    ])
  func header(text: String, expected: Bool) throws {
    #expect(try openSource(text.utf8).form.hasHeader == expected)
  }

  @Test(
    "The format",
    arguments: [
      ("{\"a\":1}\n{\"a\":2}\n", InputFormat.ndjson), ("{\"a\":1}", .ndjson), ("[{\"a\":1}]", .json), ("[]", .json),
      ("{\n\"a\":1\n}\n", .json), ("{\"a\":1\n{\"a\":2}\n", .ndjson), ("[1,2]\n[3,4]\n", .ndjson),
      ("{a,b\n1,2\n", .csv),
      ("[a],[b]\n1,2\n", .csv), ("a\tb\n1\t2\n", .tsv), ("\u{FEFF}  [ {\"a\":", .json), ("{\"d\":[{\"a\":1}]}", .json),
      ("{\"d\":[1],\"e\":\"x\"}\n", .ndjson),
    ])
  func format(text: String, expected: InputFormat) throws {
    let format: InputFormat
    do { format = try openSource(text.utf8).form.format } catch let error as InputError {
      Issue.record("\(error)")
      return
    }
    #expect(format == expected)
  }

  @Test("A record that the sample cuts is not counted")
  func cutSample() throws {
    let row = "1;\"" + String(repeating: "a,b", count: 20_000) + "\"\n"
    let source = try openSource(("x;y\n" + row + row + row + row).utf8)
    #expect(source.form.dialect.separator == 0x3B)
    #expect(Reading(source).rows.count == 4)
  }
}
