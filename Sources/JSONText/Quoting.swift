/// A piece of the text as a message may show it: 40 scalars at most, what can't be seen as code points.
func quotable(_ text: String) -> String {
  var result = ""
  for (index, scalar) in text.unicodeScalars.prefix(41).enumerated() {
    if index == 40 { return result + "..." }
    if isShown(scalar) { result.unicodeScalars.append(scalar) } else { result += codePoint(scalar) }
  }
  return result
}

/// Whether a scalar can be seen and doesn't change how its neighbours look.
func isShown(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: false
  default: true
  }
}

/// The code point in the form U+0041.
func codePoint(_ scalar: Unicode.Scalar) -> String {
  let digits = String(scalar.value, radix: 16, uppercase: true)
  return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}
