import Foundation
import HTTPService
import JSONText
import Jobs
import StatusReplies

/// The terms of a submission: what its request says besides the body, known before that is on its way.
struct SubmissionTerms: Sendable {
  /// The time for which the client wants to wait for the jobs; nil if it does not.
  let wait: Duration?
  /// The folder that relative paths of a document start at; nil for `payload/`.
  let directory: String?
  /// The trace that the client is in, for jobs of a document that name none.
  let trace: TraceContext?
  /// The client's word for it, by which the client finds its jobs.
  let tag: String?
  /// The client's key, by which a document is known when it comes again.
  let key: String?

  /// The contract of `POST /v1/jobs`.
  static let description = RouteDescription(
    "Accepts jobs, and waits for them if wanted", .reply(JobsReply.self), statuses: [200, 202],
    query: [
      .integer("wait", in: 0...86_400, "Replies when all jobs have finished, or after so many seconds"),
      .text("directory", "The absolute path at which relative paths in arguments start"),
      .init(
        name: "tag",
        summary: "A word that the name of the jobs' file gets, and whose beginnings before dots name that",
        schema: ["type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$"]),
      .text(
        OpenInputs.key, "The names of the open files that have come with the connection, with commas between them"),
    ],
    headers: [
      .init(
        name: "Idempotency-Key", summary: "The same body with the same key is accepted once",
        schema: ["type": "string", "pattern": "^[ -~]{1,255}$"])
    ],
    body: .init(.json(["type": "object"]), .text("application/x-ndjson"), .form(formSchema), isRequired: true),
    refusals: [409, 422])

  /// A job file with the inputs that its jobs name.
  private static let formSchema: JSONValue = [
    "type": "object", "required": ["job"], "properties": ["job": ["type": "string"]],
    "additionalProperties": ["type": "string", "format": "binary"],
  ]

  /// The kinds of bodies that have jobs.
  enum Body {
    case document
    /// A job on each line.
    case lines
    /// A document with inputs.
    case form
  }

  /// Reads a request whose query has nothing that the route does not know.
  ///
  /// - Throws: a refusal that tells what is wrong with it.
  init(_ request: HTTPRequest, of kind: Body) throws(Refusal) {
    if kind != .document, request.query(OpenInputs.key) != nil {
      throw Refusal("open files come with a job file alone, not with a form or lines")
    }
    let seconds = request.query("wait").map { Double($0) ?? -1 }
    if let seconds, !(0...86_400).contains(seconds) { throw Refusal("wait is a number of seconds, at most 86400") }
    wait = seconds.map { .seconds($0) }
    directory = request.query("directory")
    if let directory, !directory.hasPrefix("/") || directory.utf8.contains(0) || directory.utf8.count >= PATH_MAX {
      throw Refusal("directory is an absolute path of less than \(PATH_MAX) bytes")
    }
    tag = request.query("tag")
    if let tag, !Submitter.isTag(tag) {
      throw Refusal("tag is 1 to 100 letters, digits, hyphens, underscores and dots")
    }
    trace = TraceContext(headers: request.headers)
    let keys = request.headers.values(of: "Idempotency-Key")
    key = keys.first
    guard let key else { return }
    guard keys.count == 1, (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ 0x20...0x7e ~= $0 }) else {
      throw Refusal("an Idempotency-Key is one field of 1 to 255 visible characters")
    }
    if kind == .lines {
      throw Refusal("an Idempotency-Key is not for lines", hint: "give each line an \"id\": the same ID is run once")
    }
  }

  /// A reply that ends a request early.
  struct Refusal: Error {
    let response: HTTPResponse

    init(_ message: String, hint: String? = nil) {
      response = .failure(400, code: "bad-request", message: message, hint: hint)
    }
  }
}
