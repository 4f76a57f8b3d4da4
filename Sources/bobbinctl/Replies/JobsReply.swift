/// The reply of `GET /v1/jobs` and `POST /v1/jobs`.
struct JobsReply: Decodable {
  let jobs: [JobReply]
  /// The number of jobs that match, shown or not; only in lists.
  let total: Int?
}
