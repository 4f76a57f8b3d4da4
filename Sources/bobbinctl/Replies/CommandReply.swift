/// The outcome of a command for jobs.
struct CommandReply: Decodable {
  struct Job: Decodable {
    let id: String
    /// `done`, `not-found`, `reverting` or `not-possible`.
    let result: String
    let state: String?
    /// The unfinished job that has its unique key, if that is what makes it not possible.
    let uniqueOwner: String?
  }

  /// For how many jobs it was carried out.
  let done: Int
  /// The jobs that were named, in their order; nil if a selection was.
  let jobs: [Job]?
}
