package import SQLGeneration

/// The types of parameters, by the numbers that PostgreSQL gives them for good (`pg_type.dat`).
package enum ParameterType: UInt32, Sendable {
  case inferred = 0
  case binary = 17
  case integer = 20
  case text = 25
  case real = 701

  /// The type of an array of these.
  var array: UInt32 {
    switch self {
    case .inferred: 0
    case .binary: 1001
    case .integer: 1016
    case .text: 1009
    case .real: 1022
    }
  }
}

/// The values of a statement's parameters, in PostgreSQL's binary form.
package struct Parameters: Sendable {
  private struct Place {
    let offset: Int
    /// Nil for null.
    let count: Int?
  }

  /// The types, by their numbers.
  private(set) var types: [UInt32] = []
  /// All values one after the other; never empty, so that an empty text has an address.
  private var bytes: [UInt8] = [0]
  private var places: [Place] = []

  package init() {}

  package init(_ bindings: [SQLBinding]) { for binding in bindings { add(binding) } }

  var count: Int { places.count }

  mutating func add(_ binding: SQLBinding) {
    switch binding {
    case .null: addNull(.inferred)
    case .integer(let number): add(number)
    case .double(let number): add(number)
    case .text(let text): add(text)
    case .blob(let blob): add(blob)
    case .array(let array): add(ArrayParameter(array))
    }
  }

  mutating func addNull(_ type: ParameterType) {
    types.append(type.rawValue)
    places.append(Place(offset: 0, count: nil))
  }

  package mutating func add(_ number: Int64) { add(.integer) { $0.append(bigEndian: UInt64(bitPattern: number)) } }

  mutating func add(_ number: Double) { add(.real) { $0.append(bigEndian: number.bitPattern) } }

  mutating func add(_ text: String) { add(.text) { $0 += text.utf8 } }

  mutating func add(_ text: String?) { if let text { add(text) } else { addNull(.text) } }

  mutating func add(_ blob: [UInt8]) { add(.binary) { $0 += blob } }

  mutating func add(bytes: UnsafeRawBufferPointer) { add(.binary) { $0 += bytes } }

  mutating func add(integers: some Sequence<Int64>) {
    var array = ArrayParameter(.integer)
    for number in integers { array.append(number) }
    add(array)
  }

  mutating func add(texts: some Sequence<String>) {
    var array = ArrayParameter(.text)
    for text in texts { array.append(text) }
    add(array)
  }

  package mutating func add(_ array: ArrayParameter) {
    types.append(array.type.array)
    let start = bytes.count
    array.write(to: &bytes)
    places.append(Place(offset: start, count: bytes.count - start))
  }

  private mutating func add(_ type: ParameterType, _ write: (inout [UInt8]) -> Void) {
    types.append(type.rawValue)
    let start = bytes.count
    write(&bytes)
    places.append(Place(offset: start, count: bytes.count - start))
  }

  /// Lends the values as libpq wants them: their addresses and their lengths.
  func withValues<Result>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
  ) -> Result {
    let lengths = places.map { Int32($0.count ?? 0) }
    // Format 1 is binary.
    let formats = [Int32](repeating: 1, count: places.count)
    return bytes.withUnsafeBytes { bytes in
      let start = bytes.bindMemory(to: CChar.self).baseAddress
      let values = places.map { place in place.count == nil ? nil : start.map { $0 + place.offset } }
      return values.withUnsafeBufferPointer { values in
        lengths.withUnsafeBufferPointer { lengths in
          formats.withUnsafeBufferPointer { body(values.baseAddress, lengths.baseAddress, $0.baseAddress) }
        }
      }
    }
  }
}

/// Values of one type for a parameter that is an array.
package struct ArrayParameter: Sendable {
  let type: ParameterType
  private var elements: [UInt8] = []
  private(set) var count = 0
  private var hasNulls = false

  package init(_ type: ParameterType) { self.type = type }

  init(_ array: SQLArray) {
    switch array {
    case .integers(let numbers):
      type = .integer
      for number in numbers { append(number) }
    case .doubles(let numbers):
      type = .real
      for number in numbers { append(number) }
    case .texts(let texts):
      type = .text
      for text in texts { append(text) }
    case .blobs(let blobs):
      type = .binary
      for blob in blobs { blob.withUnsafeBytes { append(bytes: $0) } }
    }
  }

  package mutating func append(_ number: Int64) {
    elements.append(bigEndian: UInt32(8))
    elements.append(bigEndian: UInt64(bitPattern: number))
    count += 1
  }

  package mutating func append(_ number: Double) {
    elements.append(bigEndian: UInt32(8))
    elements.append(bigEndian: number.bitPattern)
    count += 1
  }

  package mutating func append(_ number: Int64?) { if let number { append(number) } else { appendNull() } }

  package mutating func append(_ number: Double?) { if let number { append(number) } else { appendNull() } }

  package mutating func append(_ text: String?) { if let text { append(text) } else { appendNull() } }

  package mutating func append(_ text: String) {
    elements.append(bigEndian: UInt32(text.utf8.count))
    elements += text.utf8
    count += 1
  }

  mutating func append(bytes: UnsafeRawBufferPointer) {
    elements.append(bigEndian: UInt32(bytes.count))
    elements += bytes
    count += 1
  }

  mutating func appendNull() {
    elements.append(bigEndian: UInt32.max)
    hasNulls = true
    count += 1
  }

  /// Writes the array as `array_recv` of PostgreSQL reads it: dimensions, flag of nulls, element type, then a count and
  /// a first index for the one dimension, and the elements with their lengths.
  fileprivate func write(to bytes: inout [UInt8]) {
    bytes.append(bigEndian: UInt32(count == 0 ? 0 : 1))
    bytes.append(bigEndian: UInt32(hasNulls ? 1 : 0))
    bytes.append(bigEndian: type.rawValue)
    if count == 0 { return }
    bytes.append(bigEndian: UInt32(count))
    bytes.append(bigEndian: UInt32(1))
    bytes += elements
  }
}

extension [UInt8] {
  @inline(__always)
  fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }
}
