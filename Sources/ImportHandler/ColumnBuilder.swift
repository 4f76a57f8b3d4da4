import DelimitedText
import Foundation
import ObjectGraph
import ObjectModel
import RecordInput

/// The values of one column of a batch while it is built.
struct ColumnBuilder {
  let column: ImportColumn
  /// True if records are looked for by it.
  let isKey: Bool
  private let type: AttributeType
  private let rules: AttributeRules?
  /// Rules are touched only if there are any, because of their reference counts.
  private let hasRules: Bool
  private let isPlain: Bool
  private let keepsValues: Bool
  /// True if a field may be absent, which is not the same as having no value.
  private let tellsAbsence: Bool
  /// The value of a new object if the field is absent.
  private let defaultValue: RowBatch.Column.Values?
  private var reading: FieldReading
  private var values: ColumnValues
  private var absent: RowBits
  private var count = 0

  /// - Parameters:
  ///   - keepsValues: false if values are only to be checked, and the column is not built.
  ///   - tellsAbsence: whether stored objects keep what they have where a field is absent.
  init(
    _ column: ImportColumn, isKey: Bool = false, keepsValues: Bool = true, tellsAbsence: Bool = false, capacity: Int
  ) {
    self.column = column
    self.isKey = isKey
    self.keepsValues = keepsValues
    self.tellsAbsence = tellsAbsence
    defaultValue =
      if case .attribute(let attribute) = column.target {
        Self.constant(attribute, column.property, count: 1)?.values
      } else {
        nil
      }
    type = column.attribute.type
    values = ColumnValues(type.storage, capacity: keepsValues ? capacity : 0)
    absent = RowBits(capacity: capacity)
    let rules = AttributeRules(column.attribute)
    self.rules = rules
    hasRules = rules != nil
    isPlain = column.rules.arePlain
    reading = FieldReading(column.rules)
  }

  mutating func removeAll() {
    count = 0
    absent.removeAll()
    if keepsValues { values.removeAll() }
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer, _ kind: FieldKind) throws(ImportFieldError) {
    if tellsAbsence, case .absent = kind, column.rules.fallback == nil { return try appendAbsence() }
    let isQuoted = if case .quotedText = kind { true } else { false }
    if isPlain { return try appendValue(bytes, isQuoted: isQuoted) }
    try appendByRules(bytes, isQuoted: isQuoted)
  }

  /// Adds the default, for new objects.
  private mutating func appendAbsence() throws(ImportFieldError) {
    if isKey || (defaultValue == nil && !isOptional) { throw failure("required", "is required, but absent") }
    if keepsValues {
      absent.insert(count)
      if let defaultValue { values.append(firstOf: defaultValue) } else { values.appendNull() }
    }
    count += 1
  }

  private mutating func appendByRules(_ bytes: UnsafeRawBufferPointer, isQuoted: Bool) throws(ImportFieldError) {
    let (field, isNull) = reading.prepare(bytes)
    if isNull || (field.isEmpty && !(isQuoted && type == .string)) {
      if let fallback = column.rules.fallback {
        return try fallback.withUnsafeBufferPointer { (text) throws(ImportFieldError) in
          try appendValue(UnsafeRawBufferPointer(text), isQuoted: true)
        }
      }
      return try appendNothing()
    }
    switch reading.convert(field, type) {
    case .text(let bytes): try appendValue(bytes, isQuoted: isQuoted)
    case .seconds(let seconds):
      try check(seconds)
      append(seconds)
    case .mismatch(let expected): throw mismatch(field, expected)
    }
  }

  private mutating func appendNothing() throws(ImportFieldError) {
    if !isOptional { throw failure("required", "is required, but empty") }
    appendNull()
  }

  /// Adds a value as ISO 8601, JSON and the like write it.
  @inline(__always)
  private mutating func appendValue(_ bytes: UnsafeRawBufferPointer, isQuoted: Bool) throws(ImportFieldError) {
    if bytes.isEmpty && !(isQuoted && type == .string) { return try appendNothing() }
    switch type {
    case .string:
      if hasRules { try check(bytes) }
      append(bytes)
    case .integer16, .integer32, .integer64: append(try integer(bytes))
    case .boolean:
      guard let value = FieldParser.bool(bytes) else { throw mismatch(bytes, "true or false") }
      append(value ? 1 : 0 as Int64)
    case .double, .float:
      guard let value = FieldParser.double(bytes) else { throw mismatch(bytes, "a number") }
      if type == .float, value.isFinite, !Float(value).isFinite { throw failure("type", "is too large for a Float") }
      try check(value)
      append(value)
    case .date:
      guard let value = FieldParser.date(bytes) else { throw mismatch(bytes, "a date as 2026-11-21T10:00:00Z") }
      try check(value)
      append(value)
    case .uuid:
      guard let value = FieldParser.uuid(bytes) else { throw mismatch(bytes, "a UUID") }
      withUnsafeBytes(of: value) { append($0) }
    case .decimal: try appendDecimal(bytes)
    case .uri:
      guard FieldReading.isURI(bytes) else {
        throw mismatch(bytes, "a URI, in which blanks and what is not ASCII are written as %20 and the like")
      }
      append(bytes)
    case .binary, .transformable, .undefined: throw failure("type", "can't be imported")
    }
  }

  // Values that are only checked are counted and not kept.

  @inline(__always)
  private mutating func append(_ value: Int64) {
    count += 1
    if keepsValues { values.append(value) }
  }

  @inline(__always)
  private mutating func append(_ value: Double) {
    count += 1
    if keepsValues { values.append(value) }
  }

  @inline(__always)
  private mutating func append(_ bytes: UnsafeRawBufferPointer) {
    count += 1
    if keepsValues { values.append(bytes) }
  }

  private func integer(_ bytes: UnsafeRawBufferPointer) throws(ImportFieldError) -> Int64 {
    // Numbers with a point or an exponent are such as columns of numbers with gaps are often written: 7.0.
    guard let value = FieldParser.int64(bytes) ?? DecimalText(bytes)?.int64 else {
      let isWhole = DecimalText(bytes)?.isWhole ?? false
      throw mismatch(bytes, isWhole ? "a whole number of 64 bits" : "a whole number")
    }
    if type == .integer32 && Int32(exactly: value) == nil { throw failure("type", "\(value) does not fit in 32 bits") }
    if type == .integer16 && Int16(exactly: value) == nil { throw failure("type", "\(value) does not fit in 16 bits") }
    if hasRules { try check(Double(value)) }
    return value
  }

  /// Decimals are stored as text in their usual spelling, which is mostly that of the field.
  private mutating func appendDecimal(_ bytes: UnsafeRawBufferPointer) throws(ImportFieldError) {
    if let spelled = FieldParser.spelledDecimal(bytes) {
      if hasRules, let number = FieldParser.double(spelled) { try check(number) }
      return append(spelled)
    }
    guard case .decimal(let number) = Value(String(decoding: bytes, as: UTF8.self), as: type) else {
      let isNumber = FieldParser.double(bytes) != nil
      throw mismatch(bytes, isNumber ? "a decimal number with an exponent of up to 127" : "a decimal number")
    }
    var text = "\(number)"
    // Foundation drops the digits that it has no room for.
    let isKept = text.withUTF8 { kept in
      guard let kept = DecimalText(UnsafeRawBufferPointer(kept)), let given = DecimalText(bytes) else { return false }
      return kept.hasDigits(of: given)
    }
    guard isKept else { throw mismatch(bytes, "a decimal number of up to 38 digits") }
    try check(NSDecimalNumber(decimal: number).doubleValue)
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// True if a record may leave the property without a value.
  private var isOptional: Bool {
    switch column.target {
    case .attribute(let attribute): attribute.isOptional && !isKey
    case .relationship: column.property.isOptional && !isKey
    }
  }

  /// Forgets the value of a record that is rejected because of another column.
  mutating func removeLast() {
    count -= 1
    if !keepsValues { return }
    values.removeLast()
    absent.remove(count)
  }

  private mutating func appendNull() {
    count += 1
    if keepsValues { values.appendNull() }
  }

  func built(count: Int) -> RowBatch.Column {
    RowBatch.Column(
      slot: column.valueSlot, values: values.values, nullBits: values.nulls.words, givenBits: absent.words.map { ~$0 })
  }

  private func check(_ number: Double) throws(ImportFieldError) {
    guard hasRules, let violation = rules?.violation(number: number) else { return }
    throw failure(violation.rule.rawValue, violation.message)
  }

  private func check(_ text: UnsafeRawBufferPointer) throws(ImportFieldError) {
    guard let violation = rules?.violation(text: text) else { return }
    throw failure(violation.rule.rawValue, violation.message)
  }

  private func mismatch(_ bytes: UnsafeRawBufferPointer, _ expected: String) -> ImportFieldError {
    let shown = String(decoding: bytes.prefix(40), as: UTF8.self)
    return failure("type", "\"\(shown)\(bytes.count > 40 ? "…" : "")\" is not \(expected)")
  }

  private func failure(_ rule: String, _ message: String) -> ImportFieldError {
    ImportFieldError(
      position: column.position, label: column.label, rule: rule.replacing(" ", with: "-"), message: message)
  }
}

/// Columns that don't come from the input.
extension ColumnBuilder {
  /// A column of an attribute's default, for what the input does not give; nil if it is binary.
  static func constant(_ attribute: AttributeDescription, _ property: Property, count: Int) -> RowBatch.Column? {
    let text: String
    switch attribute.defaultValue.converted(to: attribute.type) {
    case .integer(let value):
      return RowBatch.Column(slot: property.slot, values: .integers(Array(repeating: value, count: count)))
    case .boolean(let value):
      return RowBatch.Column(slot: property.slot, values: .integers(Array(repeating: value ? 1 : 0, count: count)))
    case .double(let value):
      return RowBatch.Column(slot: property.slot, values: .reals(Array(repeating: value, count: count)))
    case .date(let value):
      let seconds = value.timeIntervalSinceReferenceDate
      return RowBatch.Column(slot: property.slot, values: .reals(Array(repeating: seconds, count: count)))
    case .uuid(let value): return withUnsafeBytes(of: value.uuid) { repeated($0, property, count: count) }
    case .string(let value): text = value
    case .url(let value): text = value.absoluteString
    case .decimal(let value): text = value.description
    case .data, .null, nil: return nil
    }
    return Array(text.utf8).withUnsafeBytes { repeated($0, property, count: count) }
  }

  private static func repeated(_ bytes: UnsafeRawBufferPointer, _ property: Property, count: Int) -> RowBatch.Column {
    let arena = ByteArena(capacity: bytes.count * count)
    var offsets: [UInt32] = [0]
    for _ in 0..<count {
      arena.append(bytes)
      offsets.append(UInt32(truncatingIfNeeded: arena.count))
    }
    return RowBatch.Column(slot: property.slot, values: .bytes(offsets: offsets, arena: arena))
  }

  /// Returns why a text of the job file is not a value of an attribute; nil if it is one.
  static func problem(
    with text: [UInt8], _ property: Property, _ attribute: AttributeDescription
  ) -> String? {
    let column = ImportColumn(
      label: attribute.name, property: property, target: .attribute(attribute), rules: ValueRules())
    var builder = ColumnBuilder(column, capacity: 1)
    do throws(ImportFieldError) {
      try text.withUnsafeBufferPointer { (bytes) throws(ImportFieldError) in
        try builder.append(UnsafeRawBufferPointer(bytes), .quotedText)
      }
      return nil
    } catch {
      return error.message
    }
  }

  /// A column with the same text in each row.
  static func repeated(_ column: ImportColumn, count: Int) -> RowBatch.Column? {
    guard let text = column.constant else { return nil }
    var builder = ColumnBuilder(column, capacity: count)
    for _ in 0..<count {
      do throws(ImportFieldError) {
        try text.withUnsafeBufferPointer { (bytes) throws(ImportFieldError) in
          try builder.append(UnsafeRawBufferPointer(bytes), .quotedText)
        }
      } catch {
        // Looked at when the job was accepted.
        return nil
      }
    }
    return builder.built(count: count)
  }
}

/// A field whose value is not what its property needs.
struct ImportFieldError: Error {
  /// Of the column in the input, from 0; nil for a constant.
  var position: Int?
  /// The column's name in the input; nil if it is none of them.
  var label: String?
  /// The rule that was broken, such as `type`.
  var rule: String
  var message: String
}
