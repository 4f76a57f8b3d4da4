/// The reply of `GET /v1/jobs` and `POST /v1/jobs`.
struct JobsReply: Decodable {
  let jobs: [JobReply]
  /// How many jobs match, shown or not; only in lists.
  let total: Int?
}
