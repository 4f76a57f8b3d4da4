import RecordInput
import Testing

@Suite("Records between separators")
struct DelimitedSourceTests {
  /// In the style of public collections of CSV files: what is there, and what every reader should make of it.
  @Test(
    "Files as the world writes them",
    arguments: [
      (
        "first,last,address,city,zip\nJohn,Doe,120 any st.,\"Anytown, WW\",08123\n",
        [["John", "Doe", "120 any st.", "Anytown, WW", "08123"]]
      ),
      ("a,b,c\n1,\"\",\"\"\n2,3,4\n", [["1", "", ""], ["2", "3", "4"]]),
      ("a,b,c\r\n1,\"\",\"\"\r\n2,3,4\r\n", [["1", "", ""], ["2", "3", "4"]]),
      ("a,b\n1,\"ha \"\"ha\"\" ha\"\n3,4\n", [["1", "ha \"ha\" ha"], ["3", "4"]]),
      (
        "key,val\n1,\"{\"\"type\"\": \"\"Point\"\", \"\"coordinates\"\": [102.0, 0.5]}\"\n",
        [["1", #"{"type": "Point", "coordinates": [102.0, 0.5]}"#]]
      ),
      (
        "a,b,c\n1,2,3\n\"Once upon \na time\",5,6\n7,8,9\n",
        [["1", "2", "3"], ["Once upon \na time", "5", "6"], ["7", "8", "9"]]
      ),
      ("a,b\n1,\"ha \r\n\"\"ha\"\" \r\nha\"\n3,4\n", [["1", "ha \r\n\"ha\" \r\nha"], ["3", "4"]]),
      ("a,b,c\r1,2,3\r", [["1", "2", "3"]]),
      ("a,b,c\n1,2,3\n4,5,ʤ\n", [["1", "2", "3"], ["4", "5", "ʤ"]]),
      ("\u{FEFF}a,b\n1,2", [["1", "2"]]),
      ("a,b\n,\n", [["", ""]]),
      ("a\n\n\n1\n\n", [["1"]]),
      ("a,b\n 1 , 2 \n", [[" 1 ", " 2 "]]),
    ] as [(String, [[String]])])
  func files(text: String, expected: [[String]]) throws {
    let result = try read(text) { $0.hasHeader = true }
    #expect(result.rows == expected)
    #expect(result.rules == [])
    #expect(result.failure == nil)
  }

  @Test("A record with another number of fields is treated as stated", arguments: RaggedRows.allCases)
  func ragged(policy: RaggedRows) throws {
    let result = try read("a,b\n1,2\n3\n4,5,6\n7,8\n") { $0.raggedRows = policy }
    let expected: [RaggedRows: [[String?]]] = [
      .error: [["1", "2"], ["7", "8"]], .pad: [["1", "2"], ["3", nil], ["7", "8"]],
      .truncate: [["1", "2"], ["4", "5"], ["7", "8"]], .fit: [["1", "2"], ["3", nil], ["4", "5"], ["7", "8"]],
    ]
    #expect(result.rows == expected[policy])
    #expect(Set(result.rules).subtracting(["fieldCount"]) == [])
    #expect(result.records.count == 4)
  }

  @Test("A list of very many columns pads records to as many fields", arguments: [3, 40_000])
  func listOfColumns(count: Int) throws {
    let result = try read("1,2\n3\n") {
      $0.hasHeader = false
      $0.fieldCount = count
      $0.raggedRows = .pad
    }
    #expect(result.rows.map(\.count) == [count, count])
    #expect(try read("1,2\n") { ($0.hasHeader, $0.fieldCount) = (false, count) }.rules == ["fieldCount"])
  }

  @Test("A bad record has its place, its text and what is wrong, and the next one follows")
  func badRecords() throws {
    let result = try read("a,b\n1,x\"y\n2\n3,\"z\"z\n4,5\n") { $0.separator = 0x2C }
    #expect(result.rows == [["4", "5"]])
    #expect(result.rules == ["strayQuote", "fieldCount", "textAfterQuote"])
    #expect(result.records.map(\.raw) == ["1,x\"y", "2", "3,\"z\"z", "4,5"])
    #expect(result.records.map(\.line) == [2, 3, 4, 5])
    #expect(result.records[0].error?.byteOffset == 7)
    #expect(result.records[0].error?.column == 4)
    #expect("\(result.records[1].error!)" == "line 3, column 1: the record has 1 field, but the header has 2")
  }

  @Test("Stray quotes can be text")
  func strayQuotes() throws {
    let result = try read("a,b\n1,x\"y\n3,\"z\"z\n") { $0.strayQuotes = .literal }
    #expect(result.rows == [["1", "x\"y"], ["3", "zz"]])
  }

  @Test("Lines before the header and comments are left out, and lines are counted on")
  func skipping() throws {
    let result = try read("report of today\r\n\"\r\n# no\na;b\n# neither\n1;2\n") {
      $0.skipLines = 2
      $0.comment = 0x23
    }
    #expect(result.columns == ["a", "b"])
    #expect(result.rows == [["1", "2"]])
    #expect(result.records[0].line == 6)
    #expect(try read("a\nb\n") { $0.skipLines = 9 }.rows == [])
  }

  @Test("Any ASCII character separates or quotes", arguments: [0x3A, 0x20, 0x01, 0x1F, 0x5E, 0x7E] as [UInt8])
  func anySeparator(separator: UInt8) throws {
    let character = String(Character(Unicode.Scalar(separator)))
    let text = "a,b\n'1','it''s,'\n".replacing(",", with: character)
    let result = try read(text) {
      $0.separator = separator
      $0.quoting = .byte(0x27)
    }
    #expect(result.rows == [["1", "it's" + character]])
  }

  @Test("Contradictions between options are told")
  func problems() {
    func problem(_ change: (inout InputOptions) -> Void) -> String? {
      var options = InputOptions()
      change(&options)
      return options.problem?.key
    }
    #expect(problem { _ in } == nil)
    #expect(problem { $0.separator = 0x0A } == "separator")
    #expect(problem { ($0.separator, $0.comment) = (0x3B, 0x3B) } == "comment")
    #expect(problem { ($0.format, $0.separator) = (.json, 0x3B) } == "separator")
    #expect(problem { ($0.format, $0.path) = (.csv, ["a"]) } == "records")
  }

  @Test("Whatever is stated, a source opens or tells why not")
  func statedBytes() throws {
    let bytes: [UInt8?] = [nil, 0, 0x09, 0x0A, 0x22, 0x23, 0x27, 0x2C, 0x3B, 0x80, 0xFF]
    for format in InputFormat.allCases {
      for separator in bytes {
        for quote in bytes {
          for comment in bytes {
            // Nothing is thrown but the source's own error.
            do {
              _ = try read("a,'b'\n1;\"2\"\n") {
                $0.format = format
                $0.separator = separator
                $0.quoting = quote.map { .byte($0) }
                $0.comment = comment
              }
            } catch let error as InputError { #expect(!error.description.isEmpty) }
          }
        }
      }
    }
    #expect(try read("a\"b\n1\"2\n") { $0.separator = 0x22 }.rows == [["1", "2"]])
  }

  @Test("A byte that is not UTF-8 makes one record bad, with its place")
  func invalidUTF8() throws {
    let bytes = Array("a,b\nä,".utf8) + [0xFF] + Array("\nc,d\n".utf8)
    let result = try read(bytes)
    #expect(result.rows == [["c", "d"]])
    #expect(result.records[0].error?.byteOffset == 7)
    #expect(result.records[0].error?.message.contains("0xFF is not UTF-8") == true)
  }

  @Test("An empty input has no records", arguments: ["", "\u{FEFF}", "\n", "# x\n"])
  func empty(text: String) throws {
    let result = try read(text) { $0.comment = 0x23 }
    #expect(result.records == [])
    #expect(result.columns == nil)
  }
}
