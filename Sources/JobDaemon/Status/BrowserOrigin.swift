import HTTPService

/// The origin of a request, as far as browsers say it, which send requests for whatever page is open in them.
enum BrowserOrigin {
  /// The reply to a request that a page of another site may have caused; nil for others.
  ///
  /// What such a page may not read, the browser keeps from it; but a change is made before the browser looks.
  /// - Parameter hosts: the names by which this daemon is known.
  static func refusal(of request: HTTPRequest, hosts: [String]) -> HTTPResponse? {
    if request.headers.values(of: "Host").count > 1 {
      return .failure(400, code: "bad-request", message: "a request has one Host header (RFC 9112, 3.2)")
    }
    // Another site's name can be made to lead to this machine (DNS rebinding), and its pages then are of one site with
    // us; but the browser sends the name that it knows. To the Unix socket it comes by a bridge, such as socat or ssh.
    let host = request.headers["Host"].map(name(ofAuthority:))
    if request.client.address != nil || host.map(isDomain) == true {
      guard let host, hosts.contains(host) else {
        return .failure(
          421, code: "unknown-host", message: "the daemon is not known by the name in the Host header",
          hint: "add the name to [Status] Hosts=, if it is right")
      }
    }
    if request.method == .get || request.method == .head { return nil }
    return isOfAnotherSite(request, hosts)
      ? .failure(
        403, code: "cross-site", message: "a page of another site may not change anything here",
        hint:
          "if it is this daemon's own page behind a proxy, have the proxy pass the Host header, and add its name to "
          + "[Status] Hosts=") : nil
  }

  /// True for a name that somebody may own: with letters and a dot.
  private static func isDomain(_ name: String) -> Bool { name.contains(".") && name.contains(where: \.isLetter) }

  private static func isOfAnotherSite(_ request: HTTPRequest, _ hosts: [String]) -> Bool {
    let site = request.headers["Sec-Fetch-Site"]
    // "none" is a user's own doing, such as a typed address.
    if let site, !["same-origin", "none"].contains(site) { return true }
    // Programs send none.
    guard let origin = request.headers["Origin"] else { return false }
    guard let separator = origin.range(of: "://") else { return true }
    let authority = origin[separator.upperBound...].lowercased()
    if !hosts.contains(name(ofAuthority: authority)) { return true }
    // Browsers that know Sec-Fetch-Site have compared the ports.
    return site == nil && authority != request.headers["Host"]?.lowercased()
  }

  /// The name or address of `example.com:80` or `[::1]:80`, in lower case.
  private static func name(ofAuthority authority: String) -> String {
    let end = authority.hasPrefix("[") ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
    return authority[..<(end ?? authority.firstIndex(of: ":") ?? authority.endIndex)].lowercased()
  }
}
