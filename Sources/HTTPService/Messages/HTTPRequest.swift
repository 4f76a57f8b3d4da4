package import Foundation
package import SystemSupport

/// One complete request, an immutable snapshot that may be kept and passed to any thread.
package struct HTTPRequest: Sendable {
  package let method: HTTPMethod
  package let target: HTTPTarget
  package let headers: HTTPHeaders
  package let body: Data
  /// The peer's credentials, as the kernel saw them at connect; nil for TCP.
  package let peer: PeerCredentials?

  package init(
    method: HTTPMethod, target: HTTPTarget, headers: HTTPHeaders = [:], body: Data = Data(),
    peer: PeerCredentials? = nil
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
    self.peer = peer
  }

  /// The path as it was sent, without the query.
  package var path: String { target.path }

  /// The first value of a query item, empty if it has no equals sign, nil if it is not there.
  package func query(_ name: String) -> String? {
    target.queryItems.first { $0.name == name }?.value
  }
}
