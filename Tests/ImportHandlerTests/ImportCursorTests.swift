import DelimitedText
import RecordInput
import Testing

@testable import ImportHandler

@Suite("Cursors of imports")
struct ImportCursorTests {
  @Test("As many new objects are taken back at once as there may be, whatever lies between them")
  func revert() throws {
    var cursor = ImportCursor(position: .start, inputSize: 1, inputTime: 1)
    for first in stride(from: Int64(0), to: 100, by: 10) { cursor.note(first..<first + 4) }
    cursor.note(94..<96)
    #expect(cursor.newObjects == 42)
    let last = cursor.popNewObjects(atMost: 10)
    #expect(Set(last) == Set([90, 91, 92, 93, 94, 95, 80, 81, 82, 83]))
    #expect(cursor.phase == .reverting)
    // What is left outlives a restart.
    var rest = try #require(ImportCursor(cursor.text))
    #expect(rest.popNewObjects(atMost: 100).count == 32)
    #expect(rest.popNewObjects(atMost: 100).isEmpty)
  }

  @Test("Milliseconds since 1970 are the moment that is spelled out")
  func milliseconds() throws {
    let pattern = try #require(DatePattern("epochMilliseconds"))
    for (milliseconds, text) in [(1_577_836_800_123.0, "2020-01-01T00:00:00.123Z"), (-1, "1969-12-31T23:59:59.999Z")] {
      let spelled = Array(text.utf8).withUnsafeBytes { FieldParser.date($0) }
      #expect(pattern.secondsSince2001(milliseconds) == spelled)
    }
  }

  @Test("A number is a date only in the years that dates are written in")
  func years() throws {
    let pattern = try #require(DatePattern("epoch"))
    for (inside, outside, text) in [
      (-62_135_596_800.0, -62_135_596_801.0, "0001-01-01"), (253_402_300_799, 253_402_300_800, "9999-12-31T23:59:59"),
    ] {
      #expect(pattern.secondsSince2001(inside) == Array(text.utf8).withUnsafeBytes { FieldParser.date($0) })
      #expect(pattern.secondsSince2001(outside) == nil)
    }
    #expect(pattern.secondsSince2001(1e20) == nil && pattern.secondsSince2001(.nan) == nil)
  }
}
