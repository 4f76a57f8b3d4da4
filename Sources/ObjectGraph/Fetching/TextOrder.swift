/// How a sort compares texts; none of them follows the rules of a language.
public enum TextOrder: Sendable, Hashable {
  /// By Unicode code points, which an index serves.
  case codePoints
  /// By code points, in lower case.
  case caseInsensitive
  /// As people expect it of names: without regard to case and marks, and numbers by their value, so that "Page 2" comes
  /// before "page 10". What is the same then is ordered by code points.
  case localizedStandard
}
