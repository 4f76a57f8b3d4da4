// The target of scripts/fuzz-predicates, compiled together with the sources that it tests.

/// What libFuzzer calls with each input: the text must be read or refused, and what was read must read the same again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPredicates(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  guard let condition = try? Condition(format: text, arguments: [1, "text", nil]) else {
    _ = try? Condition(format: text, arguments: [])
    return 0
  }
  let description = condition.description
  // Dates, objects and the like have no literal; these arguments have.
  guard let again = try? Condition(format: description, arguments: []) else {
    fatalError("can't be read again: \(description)")
  }
  precondition(again.description == description, "reads otherwise: \(description)")
  return 0
}
