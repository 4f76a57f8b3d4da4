/// The JSON form of every refusal.
struct ErrorDocument: Encodable {
  struct Content: Encodable {
    let code: String
    let message: String
    let hint: String?
  }

  let error: Content
}
