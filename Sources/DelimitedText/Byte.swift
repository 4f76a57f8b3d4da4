/// Names of ASCII bytes.
enum Byte {
  static let lineFeed: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let plus: UInt8 = 0x2B
  static let comma: UInt8 = 0x2C
  static let minus: UInt8 = 0x2D
  static let period: UInt8 = 0x2E
  static let zero: UInt8 = 0x30
  static let colon: UInt8 = 0x3A
  /// Makes an ASCII letter lower case by OR.
  static let lowerCaseBit: UInt8 = 0x20
}
