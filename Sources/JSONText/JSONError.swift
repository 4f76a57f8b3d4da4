/// The reason why a text is not JSON.
public struct JSONError: Error, Sendable, Hashable {
  /// The kind of error; open, so that a new kind breaks no caller.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public var rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Bytes that are no UTF-8.
    public static let notUTF8 = Code(rawValue: "notUTF8")
    /// The text ends before its value does.
    public static let unexpectedEnd = Code(rawValue: "unexpectedEnd")
    /// Text that the grammar doesn't allow there.
    public static let unexpectedText = Code(rawValue: "unexpectedText")
    /// A control character in a string, or an unknown escape.
    public static let invalidString = Code(rawValue: "invalidString")
    /// A malformed number, or one that no Double holds.
    public static let invalidNumber = Code(rawValue: "invalidNumber")
    /// A key that its object already has.
    public static let duplicateKey = Code(rawValue: "duplicateKey")
    /// Arrays and objects nested more deeply than allowed.
    public static let tooDeep = Code(rawValue: "tooDeep")
  }

  /// The kind of error.
  public var code: Code
  /// The 1-based line; LF, CR LF and CR end one.
  public var line: Int
  /// The 1-based column in Unicode scalars, a tab being one.
  public var column: Int
  /// The offset in the bytes that were given, a byte order mark included.
  public var byteOffset: Int
  /// The expected and the actual text; quotes up to 40 characters, control characters escaped.
  public var message: String

  /// An error at a place.
  public init(code: Code, line: Int, column: Int, byteOffset: Int, message: String) {
    self.code = code
    self.line = line
    self.column = column
    self.byteOffset = byteOffset
    self.message = message
  }
}

extension JSONError: CustomStringConvertible {
  /// The place and the message.
  public var description: String { "line \(line), column \(column): \(message)" }
}
