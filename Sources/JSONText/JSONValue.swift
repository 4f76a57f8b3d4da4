/// A value of a JSON text.
///
/// Integers that fit into 64 bits stay integers. Every other number is a Double, the nearest one if it has none that is
/// exact: 9223372036854775808 and 0.1 become what a Double holds. `-0` is the integer 0, `-0.0` is not.
public enum JSONValue: Sendable, Hashable {
  /// The word `null`.
  case null
  /// True or false.
  case bool(Bool)
  /// A whole number of 64 bits.
  case integer(Int64)
  /// Any other number. Infinities and NaN come from no text, and are written as null.
  case number(Double)
  /// A text.
  case string(String)
  /// Values in their order.
  case array([JSONValue])
  /// Values by their keys, in the order of the text.
  case object(JSONObject)
}
