import Foundation
import Jobs

/// A client's key for a submission, which makes its repetition known: the IDs of jobs that have none are made of it.
///
/// So nothing has to be remembered beside the jobs themselves, and what is known of the key is on disk with them.
struct SubmissionKey: Sendable, Equatable {
  /// The beginning of the IDs of all jobs under the key, whatever was submitted.
  let front: String
  /// The ID that is made of the key and of what is submitted.
  let id: String

  /// - Parameters:
  ///   - text: the key as the client has it, which is its user's alone.
  ///   - inputs: the names of the inputs in the spool, which have the hashes of their contents.
  ///   - directory: where its relative paths start.
  init(_ text: String, of user: UInt32, body: Data, inputs: [String] = [], directory: String?) {
    var key = StableHash()
    key.combine(Int64(user))
    key.combine(text.utf8)
    var contents = StableHash()
    contents.combine(body)
    contents.combine([0])
    contents.combine((directory ?? "").utf8)
    for input in inputs.sorted() { contents.combine("\0\(input)".utf8) }
    front = "key-\(key.digits)@"
    id = front + contents.digits
  }
}

/// A key under which something else was submitted.
struct KeyReused: Error {}
