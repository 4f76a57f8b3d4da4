import Foundation

/// How many open sockets of this machine are bound to a path: a listener and the server's side of each connection.
///
/// The kernel lists a socket as long as any descriptor of it is open, so a forgotten one shows.
func socketCount(boundTo path: String) throws -> Int {
  try String(contentsOfFile: "/proc/net/unix", encoding: .utf8).split(separator: "\n").count {
    $0.hasSuffix(" " + path)
  }
}
