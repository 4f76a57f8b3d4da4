package import Foundation
package import SystemSupport

/// One complete request, an immutable snapshot that may be kept and passed to any thread.
package struct HTTPRequest: Sendable {
  package let method: HTTPMethod
  package let target: HTTPTarget
  package let headers: HTTPHeaders
  package let body: Data
  /// The place where its body is, if that was not kept in memory.
  package let sink: (any HTTPBodySink)?
  /// The client that has made it.
  package var client: HTTPClient
  /// The open files that came with it, over a Unix socket.
  package let passed: PassedFiles?

  package init(
    method: HTTPMethod, target: HTTPTarget, headers: HTTPHeaders = [:], body: Data = Data(),
    sink: (any HTTPBodySink)? = nil, client: HTTPClient = HTTPClient(), passed: PassedFiles? = nil
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
    self.sink = sink
    self.client = client
    self.passed = passed
  }

  /// The credentials of its client: the peer's of a Unix socket, or those that its token stands for.
  package var peer: PeerCredentials? { client.credentials }

  /// The path as it was sent, without the query.
  package var path: String { target.path }

  /// The first value of a query item, empty if it has no equals sign, nil if it is not there.
  package func query(_ name: String) -> String? {
    target.queryItems.first { $0.name == name }?.value
  }
}

/// The client at the other end of a connection, and the token that it has shown, once somebody has looked at that.
package struct HTTPClient: Hashable, Sendable {
  /// The account that connections, turns and waits are counted by.
  package enum Account: Hashable, Sendable {
    case user(UInt32)
    case token(String)
    case network(String)
    case unknown
  }

  /// On a Unix socket as the kernel saw them at connect; on TCP nil, until a token says as whom its requests are made.
  package private(set) var credentials: PeerCredentials?
  /// The address of a client of TCP; nil on a Unix socket.
  package let address: ClientAddress?
  /// The name of its token.
  package private(set) var token: String?

  package init(_ credentials: PeerCredentials? = nil, address: ClientAddress? = nil) {
    (self.credentials, self.address) = (credentials, address)
  }

  /// The same client, with a token that is in order.
  package func with(token: String, _ credentials: PeerCredentials) -> HTTPClient {
    var client = self
    (client.token, client.credentials) = (token, credentials)
    return client
  }

  package var account: Account {
    if let token { return .token(token) }
    return credentials.map { .user($0.user) } ?? address.map { .network($0.network) } ?? .unknown
  }
}

/// A place for a body that is too large for memory.
package protocol HTTPBodySink: AnyObject, Sendable {
  /// Takes the next bytes, on a queue for the bodies of all clients, where it may wait for a disk.
  ///
  /// - Throws: if there is no room for them; what follows is discarded, and the request refused.
  func append(_ bytes: UnsafeRawBufferPointer) throws
}

/// The place where the body of a request goes, decided when its header is complete.
package enum HTTPBodyPlace: Sendable {
  /// Memory, as far as the server's limit reaches.
  case memory
  case sink(any HTTPBodySink)
  case refused(HTTPResponse)
}

/// Decides where the body of a request goes, whose length is announced; called on the server's thread.
package typealias HTTPBodyPlacer = @Sendable (_ request: HTTPRequest, _ length: UInt64) -> HTTPBodyPlace

/// A request's target: the path in decoded components and the decoded query (RFC 3986, origin form only).
package struct HTTPTarget: Equatable, Sendable {
  package struct QueryItem: Equatable, Sendable {
    package let name: String
    /// Empty for an item without an equals sign.
    package let value: String
  }

  /// The path as it was sent, still percent-encoded, without the query.
  package let path: String
  /// Decoded after splitting, so an encoded slash stays inside its component; empty for "/".
  package let components: [String]
  package let queryItems: [QueryItem]

  /// Parses a request target, or returns nil when it is not a plain absolute path with valid escapes.
  ///
  /// Refused are: other forms ("*", "http://..."), bytes outside visible ASCII, fragments, broken or incomplete
  /// escapes, escapes that decode to NUL or to invalid UTF-8, and the components "." and ".." in any spelling.
  package init?(_ target: String) {
    let bytes = Array(target.utf8)
    guard bytes.first == UInt8(ascii: "/"), bytes.allSatisfy({ 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "#") }) else {
      return nil
    }
    let parts = bytes.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let components = Self.components(of: parts[0].dropFirst()),
      let items = parts.count == 2 ? Self.queryItems(of: parts[1]) : []
    else { return nil }
    path = String(decoding: parts[0], as: UTF8.self)
    self.components = components
    queryItems = items
  }

  private static func components(of path: ArraySlice<UInt8>) -> [String]? {
    if path.isEmpty { return [] }
    var components: [String] = []
    for part in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let component = decoded(part), component != ".", component != ".." else { return nil }
      components.append(component)
    }
    return components
  }

  private static func queryItems(of query: ArraySlice<UInt8>) -> [QueryItem]? {
    var items: [QueryItem] = []
    for part in query.split(separator: UInt8(ascii: "&")) {
      // Forms send a space as a plus sign; a real plus sign arrives as %2B.
      let spaced = part.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
      let sides = spaced.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decoded(sides[0]), let value = sides.count == 2 ? decoded(sides[1]) : "" else { return nil }
      items.append(QueryItem(name: name, value: value))
    }
    return items
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "%") {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(hexadecimalValue), let low = rest.popFirst().flatMap(hexadecimalValue),
        high | low != 0
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    Character(Unicode.Scalar(digit)).hexDigitValue.map { UInt8($0) }
  }
}

/// Header fields in their order; names are compared without regard to case.
package struct HTTPHeaders: Equatable, Sendable {
  package struct Field: Equatable, Sendable {
    package let name: String
    package let value: String
  }

  package private(set) var fields: [Field] = []

  package init() {}

  /// The first value of a name; setting replaces all fields of that name, nil removes them.
  package subscript(name: String) -> String? {
    get { fields.first { Self.isEqual($0.name, name) }?.value }
    set {
      fields.removeAll { Self.isEqual($0.name, name) }
      if let newValue { add(name, newValue) }
    }
  }

  /// All values of a name, in their order.
  package func values(of name: String) -> [String] {
    fields.filter { Self.isEqual($0.name, name) }.map(\.value)
  }

  /// Adds a field and keeps earlier ones of that name.
  package mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Field names are ASCII; bit 0x20 is what distinguishes the cases of its letters.
  private static func isEqual(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && zip(left.utf8, right.utf8).allSatisfy { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
  }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { add(name, value) }
  }
}

/// A request's method, open to names this module doesn't know.
package struct HTTPMethod: RawRepresentable, Hashable, Sendable {
  package let rawValue: String

  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  package static let delete = Self(rawValue: "DELETE")
  package static let get = Self(rawValue: "GET")
  package static let head = Self(rawValue: "HEAD")
  package static let patch = Self(rawValue: "PATCH")
  package static let post = Self(rawValue: "POST")
  package static let put = Self(rawValue: "PUT")
}
