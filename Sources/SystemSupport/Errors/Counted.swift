/// Returns a count with its noun, such as "1 field" or "3 fields".
///
/// - Parameter thing: a noun whose plural has an s, with what stands before it: "unfinished job".
package func counted(_ number: Int, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }
