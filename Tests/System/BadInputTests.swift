import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A bad input fails its own job only")
  struct BadInputs {
    /// A CSV that can't be imported; PATH in the reason stands for its path.
    struct BadTable: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let text: String
      let reason: String

      init(_ description: String, _ text: String, _ reason: String) {
        testDescription = description
        self.text = text
        self.reason = reason
      }
    }

    static let tables: [BadTable] = [
      BadTable("empty", "", #"the input PATH is empty; it should begin with the names of its columns"#),
      BadTable(
        "a short record", "job,number\na,1\nb\nc,3\n",
        #"PATH: line 3, column 1: the record has 1 field, but the header has 2"#),
      BadTable(
        "a long record", "job,number\na,1\nb,2,3\n",
        #"PATH: line 3, column 1: the record has 3 fields, but the header has 2"#),
      BadTable(
        "an unclosed quote", "job,number\na,1\n\"b,2\nc,3\n",
        #"the input PATH can't be read: line 3, column 1, field 1: the quote opened here is never closed; close it, or double it if it belongs to the text"#
      ),
      BadTable(
        "text behind a quote", "job,number\n\"a\"x,1\n",
        #"PATH: line 2, column 4, field 1: text after a closing quote; double the quotes that belong to the text"#),
      BadTable(
        "NUL bytes", "job,number\na,1\nb\0b,2\n",
        #"PATH: line 3, column 2, field 1: a NUL byte; the text is damaged or in another encoding such as UTF-16"#),
      BadTable(
        "a wrong type", "job,number\na,1\nb,two\n", #"PATH: line 3, column 2 (number): "two" is not a whole number"#),
      BadTable(
        "too large a number", "job,number\na,9223372036854775808\n",
        #"PATH: line 2, column 2 (number): "9223372036854775808" is not a whole number of 64 bits"#),
      BadTable(
        "an empty required value", "job,number\na,\n", #"PATH: line 2, column 2 (number): is required, but empty"#),
      BadTable(
        "an unknown column", "job,numbr\na,1\n",
        #"PATH: line 1: column 2: the entity "Reading" has no attribute "numbr"; did you mean "number"?"#),
      BadTable(
        "a column twice", "job,number,job\na,1,b\n", #"PATH: line 1: the header names the column "job" twice"#),
    ]

    @Test("A CSV is refused as a whole, naming line and column, and no row of it is kept", arguments: tables)
    func table(table: BadTable) async throws {
      let root = try DaemonRoot()
      try root.payload("bad.csv", table.text)
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(TestModel.importJob("bad", "bad.csv"), as: "bad.json")
      let reason = table.reason.replacing("PATH", with: root.paths.payload + "/bad.csv")
      try await daemon.expectOnlyGood(kept: "bad.json", reason: "bad: " + reason, isJob: true)
    }

    @Test("A CSV that is not UTF-8 is refused, naming the line")
    func encoding() async throws {
      let root = try DaemonRoot()
      try root.write(Data("job,number\na,1\n".utf8) + [0xff] + Data(",2\n".utf8), to: root.paths.payload + "/bad.csv")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(TestModel.importJob("bad", "bad.csv"), as: "bad.json")
      let reason =
        "bad: \(root.paths.payload)/bad.csv: line 3, column 1: the byte 0xFF is not UTF-8; state the "
        + "encoding, or save the text as UTF-8"
      try await daemon.expectOnlyGood(kept: "bad.json", reason: reason, isJob: true)
    }

    @Test("A CSV without a column for what must have a value is refused, naming the property")
    func missingColumn() async throws {
      let root = try DaemonRoot(
        model: TestModel.model(
          """
          <entity name="Reading"><attribute name="job" attributeType="String"/>
            <attribute name="note" optional="YES" attributeType="String"/></entity>
          """))
      try root.payload("bad.csv", "note\nhello\n")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(TestModel.importJob("bad", "bad.csv"), as: "bad.json")
      let reason =
        "bad: the input \(root.paths.payload)/bad.csv: no column gives \"Reading.job\", which must have a value; map a column to it, state it in \"values\", or make it "
        + "optional or give it a default in the model"
      try await daemon.expectOnlyGood(kept: "bad.json", reason: reason, isJob: true)
    }

    @Test("An input that is missing, a folder or a FIFO is named", arguments: ["missing", "folder", "fifo"])
    func noFile(kind: String) async throws {
      let root = try DaemonRoot()
      let path = root.paths.payload + "/input"
      if kind == "folder" { try #require(mkdir(path, 0o755) == 0) }
      if kind == "fifo" { try #require(mkfifo(path, 0o644) == 0) }
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(TestModel.importJob("bad", "input"), as: "bad.json")
      let reason =
        kind == "missing"
        ? "can't be read: open \"\(path)\": No such file or directory (ENOENT)"
        : "can't be read: it is no regular file"
      try await daemon.expectOnlyGood(kept: "bad.json", reason: "bad: the input \(path) \(reason)", isJob: true)
    }

    @Test(
      "A byte order mark, CRLF, quotes and line breaks in fields are no mistakes",
      arguments: [
        "\u{feff}job,number\na,1\nb,2\n", "job,number\r\na,1\r\nb,2\r\n", "job,number\na,1\nb,2",
        "number,job\n\"1\",\"a\"\n2,\"b\"\n",
      ])
    func goodTable(text: String) async throws {
      let root = try DaemonRoot()
      try root.payload("good.csv", text)
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(TestModel.importJob("good", "good.csv"))
      #expect(jobs.first?["state"]?.string == "completed")
      #expect(jobs.first?["durable"]?.bool == true)
      let rows = try await root.sql("SELECT job, number FROM Reading ORDER BY number")
      #expect(rows == "a|1\nb|2")
    }

    enum Picture: String, CaseIterable, Sendable { case truncated, text, empty, huge, missing }

    @Test("A picture that can't be decoded fails its job and leaves no file", arguments: Picture.allCases)
    func picture(picture: Picture) async throws {
      let root = try DaemonRoot()
      let path = root.paths.payload + "/bad.jpg"
      let whole = try await TestPicture.jpeg()
      switch picture {
      case .truncated: try root.write(whole.prefix(whole.count / 2), to: path)
      case .text: try root.write("no picture at all\n", to: path)
      case .empty: try root.write("", to: path)
      case .huge: try root.write(TestPicture.pngClaiming(width: 60_000, height: 60_000), to: path)
      case .missing: break
      }
      let daemon = try await DaemonProcess.ready(root)
      let job = #"""
        {"type": "image.encode", "id": "bad",
        "arguments": {"input": "bad.jpg", "outputs": [{"path": "out.webp", "width": 32}], "store": {"title": "bad"}}}
        """#
      try root.drop(job, as: "bad.json")
      let reason: String =
        switch picture {
        case .truncated: #"bad.jpg: the picture is truncated or damaged: VipsJpeg: Premature end of input file"#
        case .text:
          #"bad.jpg: the input is not a picture of an allowed format (JPEG, PNG, WebP, AVIF, HEIF, TIFF, GIF)"#
        case .empty: #"bad.jpg: the input is empty"#
        case .huge: #"bad.jpg: the input claims 60000 x 60000 pixels; the limit is 200000000 pixels"#
        case .missing: "\(path) can't be read: open \"\(path)\": No such file or directory (ENOENT)"
        }
      try await daemon.expectOnlyGood(kept: "bad.json", reason: "bad: the input " + reason, isJob: true)
      // Not even a temporary file under a hidden name.
      let left = try Directory(path: root.paths.payload).entries()
      #expect(left.filter { $0 != "bad.jpg" } == [])
    }
  }
}
