import HTTPService
import Synchronization

/// What a test's server was asked.
final class SeenRequests: Sendable {
  private let requests = Mutex<[(line: String, body: String)]>([])

  func add(_ request: HTTPRequest) {
    let query = request.target.queryItems.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    let line = "\(request.method.rawValue) \(request.path)" + (query.isEmpty ? "" : "?" + query)
    requests.withLock { $0.append((line, String(decoding: request.body, as: UTF8.self))) }
  }

  var all: [(line: String, body: String)] { requests.withLock { $0 } }
}
