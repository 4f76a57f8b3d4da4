/// What became of a command for jobs.
struct CommandReply: Decodable {
  struct Job: Decodable {
    let id: String
    /// `done`, `not-found`, `reverting` or `not-possible`.
    let result: String
    let state: String?
  }

  /// For how many jobs it was carried out.
  let done: Int
  /// The jobs that were named, in their order; nil if a selection was.
  let jobs: [Job]?
}
