extension String {
  /// The first text after all that begin with this one, in the order of code points; nil if there is none.
  var endOfPrefix: String? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      // Surrogates are no scalars, so U+E000 follows U+D7FF.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let successor = Unicode.Scalar(next) else { continue }
      var text = String.UnicodeScalarView(scalars)
      text.append(successor)
      return String(text)
    }
    return nil
  }
}
