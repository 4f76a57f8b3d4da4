/// A value of a JSON text.
///
/// Integers that fit into 64 bits stay integers. Every other number is a Double, the nearest one if it has none that is
/// exact: 9223372036854775808 and 0.1 become what a Double holds. `-0` is the integer 0, `-0.0` is not.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// Infinities and NaN come from no text, and are written as null.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)
}
