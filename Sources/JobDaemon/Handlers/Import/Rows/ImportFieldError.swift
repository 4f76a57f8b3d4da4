/// A field whose value is not what its property needs.
struct ImportFieldError: Error {
  /// Of the column in the input, from 0; nil for a constant.
  var position: Int?
  /// What the input calls the column; nil if it is none of them.
  var label: String?
  /// The rule that was broken, such as `type`.
  var rule: String
  var message: String
}
