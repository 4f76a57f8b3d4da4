import DelimitedText
import ObjectModel

/// Brings the texts of a column into the form in which ISO 8601, JSON and the like write values.
struct FieldReading {
  enum Converted {
    case text(UnsafeRawBufferPointer)
    /// A date in seconds since 2001.
    case seconds(Double)
    case mismatch(String)
  }

  private let rules: ValueRules
  /// What was converted last; valid until the next call.
  private let scratch = ByteScratch()

  init(_ rules: ValueRules) { self.rules = rules }

  /// Trims a field, and tells whether it means that there is no value.
  func prepare(_ bytes: UnsafeRawBufferPointer) -> (field: UnsafeRawBufferPointer, isNull: Bool) {
    var field = bytes
    if rules.trims { field = Self.trimmed(bytes) }
    if field.isEmpty { return (field, rules.emptyIsNull) }
    return (field, rules.nullWords.contains { field.elementsEqual($0) })
  }

  private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
    else { return UnsafeRawBufferPointer(rebasing: bytes[bytes.endIndex...]) }
    return UnsafeRawBufferPointer(rebasing: bytes[first...last])
  }

  /// A field as a value of the type is usually written.
  func convert(_ field: UnsafeRawBufferPointer, _ type: AttributeType) -> Converted {
    switch type {
    case .integer16, .integer32, .integer64, .double, .float, .decimal:
      if !rules.changesNumbers { return .text(field) }
      return number(field) ? .text(scratch.bytes) : .mismatch(numberForm)
    case .boolean:
      if rules.trueWords.isEmpty { return .text(field) }
      if rules.trueWords.contains(where: { field.elementsEqual($0) }) { return .text(scratch.set("true")) }
      if rules.falseWords.contains(where: { field.elementsEqual($0) }) { return .text(scratch.set("false")) }
      let words = (rules.trueWords + rules.falseWords).map { String(decoding: $0, as: UTF8.self) }
      return .mismatch("one of " + words.joined(separator: ", "))
    case .date: return rules.dates.isEmpty ? .text(field) : date(field)
    default: return .text(field)
    }
  }

  private func date(_ field: UnsafeRawBufferPointer) -> Converted {
    for pattern in rules.dates {
      if pattern.isEpoch {
        guard let number = FieldParser.double(field), let seconds = pattern.secondsSince1970(number) else { continue }
        return .seconds(seconds - Self.referenceDate)
      }
      guard let iso = pattern.iso8601(field) else { continue }
      if let seconds = iso.withUnsafeBytes({ FieldParser.date($0) }) { return .seconds(seconds) }
    }
    return .mismatch("a date in the format that the job states")
  }

  /// 2001-01-01 in seconds since 1970.
  private static let referenceDate = 978_307_200.0

  private var numberForm: String {
    let decimal = Character(UnicodeScalar(rules.decimal ?? 0x2E))
    return rules.grouping.isEmpty
      ? "a number with the decimal character \(decimal)"
      : "a number such as 1\(String(decoding: rules.grouping, as: UTF8.self))234\(decimal)5"
  }

  /// Puts a number without grouping characters and with a decimal point into the scratch; false if it is none.
  ///
  /// Groups have three digits, so that a date or a version number is not taken for a number.
  private func number(_ field: UnsafeRawBufferPointer) -> Bool {
    scratch.removeAll()
    let decimal = rules.decimal ?? 0x2E
    var digits = 0
    var sawGroup = false
    var sawDecimal = false
    var index = 0
    while index < field.count {
      let byte = field[index]
      if (0x30...0x39).contains(byte) {
        digits += 1
        scratch.append(byte)
      } else if !rules.grouping.isEmpty, !sawDecimal, starts(field, at: index) {
        guard sawGroup ? digits == 3 : (1...3).contains(digits) else { return false }
        sawGroup = true
        digits = 0
        index += rules.grouping.count - 1
      } else if byte == decimal {
        guard !sawDecimal, !sawGroup || digits == 3 else { return false }
        sawDecimal = true
        sawGroup = false
        scratch.append(0x2E)
      } else if byte == 0x2E || byte == 0x2C {
        return false
      } else {
        scratch.append(byte)
      }
      index += 1
    }
    return !sawGroup || digits == 3
  }

  private func starts(_ field: UnsafeRawBufferPointer, at index: Int) -> Bool {
    index + rules.grouping.count <= field.count
      && field[index..<index + rules.grouping.count].elementsEqual(rules.grouping)
  }
}

/// A few bytes that are used again for each field.
private final class ByteScratch {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
  private var count = 0

  deinit { memory.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  func removeAll() { count = 0 }

  func append(_ byte: UInt8) {
    if count == memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: count * 2, alignment: 1)
      larger.copyMemory(from: UnsafeRawBufferPointer(memory))
      memory.deallocate()
      memory = larger
    }
    memory[count] = byte
    count += 1
  }

  func set(_ text: StaticString) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
