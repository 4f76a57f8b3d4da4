/// What memory that was allocated takes, as far as it can be told without asking the allocator.
enum Allocation {
  /// The header of an object of Swift.
  private static let objectHeader = 16
  /// The header of an array's memory behind that: count and capacity.
  private static let arrayHeader = 16
  /// What glibc puts before each piece of memory, and what it rounds up to.
  private static let blockHeader = 8
  private static let blockUnit = 16

  /// The bytes that an object takes whose properties have so many.
  static func byteCount(_ properties: Int) -> Int {
    let bytes = objectHeader + properties + blockHeader
    return (bytes + blockUnit - 1) / blockUnit * blockUnit
  }

  /// The bytes that an array takes whose elements have room for so many.
  static func byteCount(ofElements bytes: Int) -> Int { byteCount(arrayHeader + bytes) }

  /// The bytes that the table of a dictionary takes, of which at most three quarters are ever in use.
  static func byteCount(ofTable capacity: Int, entry: Int) -> Int { capacity == 0 ? 0 : capacity * 4 / 3 * entry }
}
