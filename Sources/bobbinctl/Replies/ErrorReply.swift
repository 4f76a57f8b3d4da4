/// The one form of all the daemon's errors.
struct ErrorReply: Decodable {
  struct Content: Decodable {
    let message: String
    let hint: String?
  }

  let error: Content
}
