/// What a field of a record is written as.
package enum FieldKind: UInt8, Sendable, CaseIterable {
  /// Text without quotes; empty, it may mean that there is no value.
  case text
  /// Text in quotes, taken out of them; empty, it is a text all the same. Every string of JSON is one.
  case quotedText
  /// A number of JSON, as it is written.
  case number
  /// `true` or `false` of JSON.
  case boolean
  /// An array or an object of JSON, as it is written.
  case json
  /// `null` of JSON.
  case null
  /// The record ends before the field, or its object lacks the key.
  case absent

  /// Whether nothing is there at all; an empty unquoted text is for the reader's owner to judge.
  package var isMissing: Bool { self == .null || self == .absent }
}
