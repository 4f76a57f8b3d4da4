/// The fields of the present record: their places, and the texts that had doubled quotes.
///
/// It has memory for the dialect's fields as they come; what it hands out is valid until the next record.
struct FieldTable: ~Copyable {
  private let limit: Int
  private var ranges: UnsafeMutablePointer<FieldRange>
  private var capacity: Int
  private(set) var count = 0

  /// The texts that had doubled quotes; apart, so that the raw record stays as it came.
  private var unescaped: UnsafeMutablePointer<UInt8>
  private var unescapedCapacity = 256
  private var unescapedCount = 0

  /// - Parameter limit: the most fields.
  init(limit: Int) {
    self.limit = limit
    capacity = min(64, limit)
    ranges = .allocate(capacity: capacity)
    unescaped = .allocate(capacity: unescapedCapacity)
  }

  deinit {
    ranges.deallocate()
    unescaped.deallocate()
  }

  /// True if another field needs more memory than there is.
  var isFull: Bool {
    @inline(__always) get { count == capacity }
  }

  @inline(__always)
  mutating func removeAll() {
    count = 0
    unescapedCount = 0
  }

  /// - Precondition: the table is not full.
  @inline(__always)
  mutating func append(_ range: FieldRange) {
    ranges[count] = range
    count &+= 1
  }

  /// Makes room for more fields; returns false if there are as many as the dialect allows.
  mutating func grow() -> Bool {
    if count == limit { return false }
    let newCapacity = min(4 * capacity, limit)
    let larger = UnsafeMutablePointer<FieldRange>.allocate(capacity: newCapacity)
    larger.update(from: ranges, count: count)
    ranges.deallocate()
    ranges = larger
    capacity = newCapacity
    return true
  }

  /// Appends a field without the quotes that are not text.
  ///
  /// - Parameters:
  ///   - text: the field, from its opening quote on.
  ///   - closing: the index of its closing quote; in what is before, each quote is followed by its double.
  mutating func append(unescaping text: UnsafeBufferPointer<UInt8>, upTo closing: Int, quote: UInt8) {
    let needed = unescapedCount + text.count
    if needed > unescapedCapacity {
      let newCapacity = 2 * needed
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity)
      larger.update(from: unescaped, count: unescapedCount)
      unescaped.deallocate()
      unescaped = larger
      unescapedCapacity = newCapacity
    }
    let first = unescapedCount
    var count = first
    var index = 1
    while index < closing {
      let byte = text[index]
      unescaped[count] = byte
      count += 1
      index += byte == quote ? 2 : 1
    }
    for index in min(closing + 1, text.count)..<text.count {
      unescaped[count] = text[index]
      count += 1
    }
    unescapedCount = count
    append(FieldRange(.quotedText, at: first, length: count - first, isUnescaped: true))
  }

  /// Sets the number of fields: missing ones are absent, superfluous ones are dropped.
  mutating func fit(_ newCount: Int) {
    precondition(newCount <= limit, "more fields than the dialect allows")
    while count < newCount {
      if isFull { _ = grow() }
      append(FieldRange(.absent, at: 0, length: 0))
    }
    count = newCount
  }

  /// The fields of a record that begins at an address.
  func fields(of record: UnsafePointer<UInt8>) -> RecordFields {
    RecordFields(record: record, unescaped: unescaped, ranges: ranges, count: count)
  }
}
