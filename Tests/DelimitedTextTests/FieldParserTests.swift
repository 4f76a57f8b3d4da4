import DelimitedText
import Foundation
import TestSupport
import Testing

@Suite("Field parser")
struct FieldParserTests {
  @Test("Integers are those that the standard library reads")
  func integers() {
    var random = SeededGenerator(seed: 1)
    var texts = ["", "+", "-", "0", "-0", "+7", "007", " 1", "1 ", "1.0", "0x1", "９", "--1"]
    texts += ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"]
    texts += ["00000000000000000000000012", "99999999999999999999", "18446744073709551616"]
    for _ in 0..<20_000 {
      let value = Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random)
      texts.append(String(value))
      texts.append(String(value) + String(Int.random(in: 0...99, using: &random)))
    }
    for text in texts { #expect(withBytes(text, FieldParser.int64) == Int64(text), "\(text)") }
  }

  @Test("The spelling of a decimal number is Foundation's")
  func decimals() {
    var random = SeededGenerator(seed: 7)
    var texts = [
      "0", "-0", "-0.0", "0.0", "7.0", "0.50", "-0.5", "007", "+1", "1e3", "5.", ".5", "", "-", "1.2.3", "1,5",
    ]
    texts += [
      "x", "100", "100.00", "-10.010", "12345678901234567890123456789.12", "1234567890123456789012345678901234",
    ]
    for _ in 0..<20_000 {
      let whole = Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random)
      let fraction = String(random.next()).prefix(Int.random(in: 0...12, using: &random))
      let zeros = String(repeating: "0", count: Int.random(in: 0...3, using: &random))
      texts.append("\(whole)" + (fraction.isEmpty ? "" : "." + fraction + zeros))
    }
    var count = 0
    for text in texts {
      guard
        let spelled = withBytes(text, { FieldParser.spelledDecimal($0).map { String(decoding: $0, as: UTF8.self) } })
      else { continue }
      count += 1
      #expect(spelled == Decimal(string: text)?.description, "\(text)")
    }
    #expect(count > 19_000)
    for text in ["5.", ".5", "", "-", "1.2.3", "1,5", "x", "007", "+1", "-0.0"] {
      #expect(withBytes(text) { FieldParser.spelledDecimal($0) == nil }, "\(text)")
    }
  }

  @Test("Decimal numbers are rounded exactly as the standard library rounds them")
  func doubles() {
    var random = SeededGenerator(seed: 2)
    var texts = ["0", "-0", "1.5", "+.5", "5.", "1e22", "1e23", "9007199254740993", "123456789012345678e-5"]
    texts += ["4.9e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "1e-400"]
    texts += ["0e999999999999999999999", "1E+2", "-1.25e-3"]
    texts += ["9007199254740992e22", "0.000000000000000000000000000000000000001", String(repeating: "1", count: 300)]
    texts += ["18446744073709551617", "0.18446744073709551617e2", "1." + String(repeating: "0", count: 2000) + "1"]
    for _ in 0..<20_000 {
      texts.append("\(Double(bitPattern: random.next() & ~(1 << 62)))")
      let digits = (0..<Int.random(in: 1...20, using: &random)).map { _ in "\(Int.random(in: 0...9, using: &random))" }
      let point = Int.random(in: 0...digits.count, using: &random)
      let number = digits[..<point].joined() + "." + digits[point...].joined()
      texts.append(number)
      texts.append(number + "e\(Int.random(in: -40...40, using: &random))")
    }
    for text in texts {
      guard let expected = Double(text), expected.isFinite else { continue }
      #expect(withBytes(text, FieldParser.double)?.bitPattern == expected.bitPattern, "\(text)")
    }
  }

  @Test(
    "What is not a decimal number is refused",
    arguments: [
      "", ".", "-", "+.", "e5", "1e", "1e+", "1e5x", "1.2.3", "0x10", "inf", "nan", "1,5", " 1", "1 ", "1_000", "1e400",
      "-1e400", "--1", "1e5.0",
    ])
  func badDoubles(text: String) {
    #expect(withBytes(text, FieldParser.double) == nil)
  }

  @Test("Words for true and false are read in any case, and nothing else")
  func bools() {
    for word in ["true", "YES", "t", "Y", "1", "True"] { #expect(withBytes(word, FieldParser.bool) == true) }
    for word in ["false", "No", "F", "n", "0", "FALSE"] { #expect(withBytes(word, FieldParser.bool) == false) }
    for word in ["", "2", "on", "truee", "\u{11}", "\u{10}", "tru", "10", " 1"] {
      #expect(withBytes(word, FieldParser.bool) == nil, "\(word)")
    }
    var words = Set<[UInt8]>()
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max where [first, second].withUnsafeBytes(FieldParser.bool) != nil {
        words.insert([first, second])
      }
    }
    #expect(words == Set(["no", "No", "nO", "NO"].map { Array($0.utf8) }))
  }

  @Test("Every day of eight centuries is the day that the calendar says")
  func days() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    let start = try #require(calendar.date(from: DateComponents(year: 1601, month: 1, day: 1)))
    for day in stride(from: 0, to: 292_194, by: 13) {
      let seconds = start.timeIntervalSinceReferenceDate + Double(day) * 86_400
      let parts = calendar.dateComponents([.year, .month, .day], from: Date(timeIntervalSinceReferenceDate: seconds))
      let text = String(format: "%04d-%02d-%02d", parts.year!, parts.month!, parts.day!)
      #expect(withBytes(text, FieldParser.date) == seconds, "\(text)")
    }
  }

  @Test(
    "Times, fractions and zones are read",
    arguments: [
      ("2001-01-01", 0), ("2001-01-01T00:00:01Z", 1), ("2001-01-01 01:02", 3720), ("2001-01-01t00:00:00.25z", 0.25),
      ("2001-01-01T01:00:00+01:00", 0), ("2001-01-01T00:00-0130", 5400), ("2001-01-01T12:00:00,5+12", 0.5),
      ("2000-12-31T23:59:59.999999999", -0.000000001), ("1970-01-01T00:00:00Z", -978_307_200),
      ("2024-02-29T00:00:00Z", 730_857_600), ("0001-01-01", -63_113_904_000), ("9999-12-31", 252_423_907_200),
    ] as [(String, Double)])
  func times(text: String, expected: Double) throws {
    let value = try #require(withBytes(text, FieldParser.date))
    #expect(abs(value - expected) < 1e-12)
  }

  @Test(
    "Dates that don't exist and other writings are refused",
    arguments: [
      "", "2023-02-29", "1900-02-29", "2023-13-01", "2023-00-01", "2023-04-31", "2023-01-00", "0000-01-01", "2023-1-1",
      "20230101", "2023/01/01", "2023-01-01T", "2023-01-01T24:00", "2023-01-01T00:60", "2023-01-01T00:00:60",
      "2023-01-01T00:00:00.", "2023-01-01T00:00:00+1", "2023-01-01T00:00:00+01:", "2023-01-01T00:00:00+01:0",
      "2023-01-01T00:00:00+0100x", "2023-01-01T00:00:00ZZ", "2023-01-01x00:00", "2023-01-01T00:00:", "2023-01-01 1:00",
      "2023-01-01T00:00+24", "2023-01-01T00:00+00:60", "２023-01-01", "2023-01-01\u{0}",
    ])
  func badDates(text: String) {
    #expect(withBytes(text, FieldParser.date) == nil)
  }

  @Test("A UUID's bytes are those that Foundation reads")
  func uuids() {
    for _ in 0..<100 {
      let uuid = UUID()
      let expected = withUnsafeBytes(of: uuid.uuid) { $0.loadUnaligned(as: SIMD16<UInt8>.self) }
      #expect(withBytes(uuid.uuidString, FieldParser.uuid) == expected)
      #expect(withBytes(uuid.uuidString.lowercased(), FieldParser.uuid) == expected)
    }
    let good = "01234567-89AB-cdef-0123-456789abcdef"
    #expect(withBytes(good, FieldParser.uuid) != nil)
    for index in 0..<36 {
      var bytes = Array(good.utf8)
      bytes[index] = bytes[index] == 0x2D ? 0x30 : 0x67
      #expect(bytes.withUnsafeBytes(FieldParser.uuid) == nil, "position \(index)")
    }
    #expect(withBytes(String(good.dropLast()), FieldParser.uuid) == nil)
  }

  @Test("Valid UTF-8 is told from invalid at every place")
  func utf8() {
    for text in ["", "a", "12345678", "123456789", "äöü€😀", "1234567ä", String(repeating: "x", count: 100) + "😀"] {
      #expect(withBytes(text, isValidUTF8))
    }
    let bad: [[UInt8]] = [[0x80], [0xC0, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE4]]
    for bytes in bad {
      for before in 0...17 {
        for after in 0...9 {
          let text = [UInt8](repeating: 0x61, count: before) + bytes + [UInt8](repeating: 0x61, count: after)
          #expect(!text.withUnsafeBytes(isValidUTF8), "\(text)")
        }
      }
    }
  }

  @Test(
    "A number is whole by its digits, however many they are and however it is spelled",
    arguments: [
      ("7.0", 7), ("1e3", 1_000), ("-1.5e1", -15), ("+.5e1", 5), ("5.", 5), ("0", 0), ("-0.000", 0),
      ("0e999999999999", 0),
      ("1e18", 1_000_000_000_000_000_000), ("1e16", 10_000_000_000_000_000),
      ("9007199254740993.0", 9_007_199_254_740_993),
      ("922337203685477580.7e1", .max), ("-9223372036854775808.00", .min), ("9223372036854775808.0", nil),
      ("-9223372036854775809", nil), ("1e19", nil), ("1e99999999999999999999", nil),
      ("0.99999999999999999999", nil), ("4503599627370496.1", nil), ("7.0000000000000000001", nil), ("1e-400", nil),
      ("100e-2", 1), ("0.00000000000000000001e20", 1), ("00012.50e1", 125), ("12345678901234567890123.0e-10", nil),
    ] as [(String, Int64?)])
  func wholeNumbers(text: String, expected: Int64?) {
    #expect(Array(text.utf8).withUnsafeBytes { DecimalText($0)?.int64 } == expected)
  }

  @Test(
    "What is no number has no digits",
    arguments: ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "nan", "1 ", "1,5"])
  func noNumbers(text: String) {
    #expect(Array(text.utf8).withUnsafeBytes { DecimalText($0) == nil })
  }

  @Test(
    "Numbers have the same digits whatever their zeros, their point and their power of ten",
    arguments: [
      ("100", "1", true), ("0.0120", "12e5", true), ("1.2", "12", true), ("1.23", "1.24", false), ("102", "12", false),
      ("0", "0.0", true), ("1", "0", false),
    ])
  func sameDigits(one: String, other: String, expected: Bool) {
    let areSame = Array(one.utf8).withUnsafeBytes { one in
      Array(other.utf8).withUnsafeBytes { other in
        DecimalText(one).flatMap { one in DecimalText(other).map { one.hasDigits(of: $0) } }
      }
    }
    #expect(areSame == expected)
  }
}
