import DelimitedText

/// What all values of a column have in common, gathered one by one in constant memory.
package struct ColumnGuess: Sendable {
  private struct Candidates: OptionSet {
    let rawValue: UInt8
    static let integer = Candidates(rawValue: 1)
    static let number = Candidates(rawValue: 2)
    static let boolean = Candidates(rawValue: 4)
    static let date = Candidates(rawValue: 8)
    static let uuid = Candidates(rawValue: 16)
    static let all = Candidates(rawValue: 31)
  }

  private var candidates = Candidates.all
  private var smallest = Int64.max
  private var largest = Int64.min
  private var needsDecimal = false
  private var fitsDecimal = true
  /// Of words that are one letter.
  private var sawTrueLetter = false
  private var sawFalseLetter = false
  private var sawBooleanWord = false
  /// Values that are there, texts without characters among them.
  package private(set) var valueCount: Int64 = 0
  private var emptyTexts: Int64 = 0

  package init() {}

  /// Takes a field into account.
  ///
  /// - Parameter isTyped: whether quotes make a text, as in JSON.
  package mutating func add(_ field: UnsafeRawBufferPointer, _ kind: FieldKind, isTyped: Bool) {
    if kind.isMissing || (kind == .text && field.isEmpty) { return }
    valueCount += 1
    if field.isEmpty {
      emptyTexts += 1
      return
    }
    guard !candidates.isEmpty else { return }
    switch kind {
    case .number: candidates.formIntersection([.integer, .number])
    case .boolean: candidates.formIntersection(.boolean)
    case .json: candidates = []
    case .quotedText where isTyped: candidates.formIntersection([.date, .uuid])
    default: break
    }
    if !candidates.isDisjoint(with: [.integer, .number]) { addNumber(field) }
    if candidates.contains(.boolean) { addWord(field) }
    if candidates.contains(.date), FieldParser.date(field) == nil { candidates.remove(.date) }
    if candidates.contains(.uuid), FieldParser.uuid(field) == nil { candidates.remove(.uuid) }
  }

  private mutating func addNumber(_ field: UnsafeRawBufferPointer) {
    guard let text = NumberText(field), FieldParser.double(field) != nil else {
      candidates.subtract([.integer, .number])
      return
    }
    if !text.fitsDouble { needsDecimal = true }
    if !text.fitsDecimal { fitsDecimal = false }
    guard candidates.contains(.integer) else { return }
    if text.isWhole, let value = FieldParser.int64(field) {
      smallest = min(smallest, value)
      largest = max(largest, value)
    } else {
      candidates.remove(.integer)
    }
  }

  /// 1 and 0 are numbers rather than words.
  private mutating func addWord(_ field: UnsafeRawBufferPointer) {
    guard field[0] > 0x39, let value = FieldParser.bool(field) else {
      candidates.remove(.boolean)
      return
    }
    if field.count > 1 {
      sawBooleanWord = true
    } else if value {
      sawTrueLetter = true
    } else {
      sawFalseLetter = true
    }
  }

  /// The narrowest type that holds all values as they are.
  package var type: GuessedType {
    guard valueCount > emptyTexts else { return .string }
    if candidates.contains(.integer) {
      if Int16(exactly: smallest) != nil, Int16(exactly: largest) != nil { return .integer16 }
      return Int32(exactly: smallest) != nil && Int32(exactly: largest) != nil ? .integer32 : .integer64
    }
    if candidates.contains(.number) {
      if !needsDecimal { return .double }
      return fitsDecimal ? .decimal : .string
    }
    // A lone letter may mean anything.
    if candidates.contains(.boolean), sawBooleanWord || (sawTrueLetter && sawFalseLetter) { return .boolean }
    if candidates.contains(.date) { return .date }
    return candidates.contains(.uuid) ? .uuid : .string
  }

  /// Whether some of so many records have no value.
  package func isOptional(records: Int64) -> Bool {
    valueCount < records || (emptyTexts > 0 && type != .string)
  }
}
