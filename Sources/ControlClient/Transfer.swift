internal import CCurl
import Foundation

/// One request on one libcurl handle, which it owns.
struct Transfer: ~Copyable {
  private let client: ControlClient
  private let target: String
  private let timeout: Duration
  private let handle: UnsafeMutableRawPointer
  private let headers: UnsafeMutablePointer<curl_slist>?
  private let greeter: Greeter?

  /// libcurl's global state is set up once per process and kept until it ends.
  private static let globalInitialization = curl_global_init(Int(CURL_GLOBAL_NOTHING))

  init(
    client: ControlClient, target: String, contentType: String, timeout: Duration, greeter: Greeter? = nil
  ) throws(ControlClientError) {
    guard Self.globalInitialization == CURLE_OK, let handle = curl_easy_init() else {
      throw client.failure(.transport, "libcurl could not be started, probably for lack of memory")
    }
    self.client = client
    self.target = target
    self.timeout = timeout
    self.handle = handle
    self.greeter = greeter
    // An empty Expect header: a local daemon needs no warning before a large body, and waiting for one costs a second.
    headers = curl_slist_append(curl_slist_append(nil, "Content-Type: \(contentType)"), "Expect:")
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(headers)
  }

  consuming func download(into reply: ReplyBody) throws(ControlClientError) -> (status: Int, body: Data) {
    let seconds = Int(timeout / .seconds(1))
    let codes = [
      ccurl_set_long(handle, CURLOPT_LOW_SPEED_LIMIT, 1), ccurl_set_long(handle, CURLOPT_LOW_SPEED_TIME, seconds),
    ]
    try check(codes)
    return try run(method: "GET", body: nil, into: reply)
  }

  consuming func run(
    method: String, body: ControlClient.Body?, into reply: ReplyBody
  ) throws(ControlClientError) -> (status: Int, body: Data) {
    // What is passed on may take as long as it likes, but not without a byte.
    try configure(milliseconds: reply.isPassedOn ? 0 : max(1, min(timeout / .milliseconds(1), Double(Int32.max))))
    try check([ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, method)])
    // NOBODY tells libcurl that no body follows a HEAD reply's Content-Length.
    if method == "HEAD" { try check([ccurl_set_long(handle, CURLOPT_NOBODY, 1)]) }
    reply.handle = handle
    if let greeter { try use(greeter) }
    // A POST without a body still announces that it is empty.
    try perform(sending: body ?? (method == "POST" ? .json(Data()) : nil), into: reply)
    var status = 0
    try check([ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)])
    return (status, reply.data)
  }

  private func configure(milliseconds: Double) throws(ControlClientError) {
    try check([
      ccurl_set_text(handle, CURLOPT_UNIX_SOCKET_PATH, client.socketPath),
      ccurl_set_text(handle, CURLOPT_URL, "http://localhost" + target),
      ccurl_set_text(handle, CURLOPT_PROXY, ""),
      ccurl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http"),
      ccurl_set_text(handle, CURLOPT_USERAGENT, "bobbinctl"),
      ccurl_set_long(handle, CURLOPT_PATH_AS_IS, 1),
      ccurl_set_long(handle, CURLOPT_HTTP09_ALLOWED, 0),
      ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1),
      ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, Int(milliseconds)),
      ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, headers),
    ])
  }

  /// Has the greeter called with the connection before the request is sent.
  private func use(_ greeter: Greeter) throws(ControlClientError) {
    let code = ccurl_set_greeter(
      handle,
      { context, connection, _ in
        guard let context else { return CURL_SOCKOPT_ERROR }
        Unmanaged<Greeter>.fromOpaque(context).takeUnretainedValue().connection = connection
        return CURL_SOCKOPT_OK
      },
      { context, _, _, _, _ in
        guard let context else { return CURL_PREREQFUNC_ABORT }
        let greeter = Unmanaged<Greeter>.fromOpaque(context).takeUnretainedValue()
        return greeter.greet(greeter.connection) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      }, Unmanaged.passUnretained(greeter).toOpaque())
    try check([code])
  }

  private func perform(sending body: ControlClient.Body?, into reply: ReplyBody) throws(ControlClientError) {
    let handle = handle
    try check([
      ccurl_set_writer(
        handle,
        { bytes, size, count, context in
          guard let bytes, let context else { return 0 }
          let reply = Unmanaged<ReplyBody>.fromOpaque(context).takeUnretainedValue()
          return reply.append(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }, Unmanaged.passUnretained(reply).toOpaque())
    ])
    // libcurl reads the body in place and calls the writer, both only while curl_easy_perform runs.
    let code = withExtendedLifetime(reply) {
      switch body {
      case nil: return curl_easy_perform(handle)
      case .lines(let size, let read)?, .form(_, let size, let read)?: return perform(reading: size, read)
      case .json(let data)?: return perform(sending: data)
      }
    }
    if reply.isTooLarge {
      throw client.failure(.replyTooLarge, "the reply is larger than \(client.maximumReplyBytes) bytes; ask for less")
    }
    if reply.isGivenUp { throw client.failure(.givenUp, "the reply was not taken to its end") }
    if code != CURLE_OK { throw failure(code) }
  }

  private func perform(sending body: Data) -> CURLcode {
    body.withUnsafeBytes { bytes in
      // Without bytes any address will do, but a null pointer would make libcurl read the body from elsewhere.
      let address = bytes.baseAddress ?? UnsafeRawPointer(handle)
      let codes = [
        ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)),
        ccurl_set_pointer(handle, CURLOPT_POSTFIELDS, address),
      ]
      return codes.first { $0 != CURLE_OK } ?? curl_easy_perform(handle)
    }
  }

  private func perform(
    reading size: Int64, _ read: (UnsafeMutableRawBufferPointer) -> Int
  ) -> CURLcode {
    withoutActuallyEscaping(read) { read in
      let source = BodySource(read)
      return withExtendedLifetime(source) {
        let codes = [
          ccurl_set_long(handle, CURLOPT_POST, 1),
          ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(size)),
          ccurl_set_reader(
            handle,
            { bytes, size, count, context in
              guard let bytes, let context else { return 0 }
              let source = Unmanaged<BodySource>.fromOpaque(context).takeUnretainedValue()
              return source.read(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            }, Unmanaged.passUnretained(source).toOpaque()),
        ]
        return codes.first { $0 != CURLE_OK } ?? curl_easy_perform(handle)
      }
    }
  }

  private func check(_ codes: [CURLcode]) throws(ControlClientError) {
    if let code = codes.first(where: { $0 != CURLE_OK }) { throw failure(code) }
  }

  private func failure(_ code: CURLcode) -> ControlClientError {
    let path = client.socketPath
    switch code {
    case CURLE_COULDNT_CONNECT:
      return connectFailure()
    case CURLE_OPERATION_TIMEDOUT:
      return client.failure(
        .timedOut,
        "no complete reply from \(path) within \(timeout); the request may have been carried out. "
          + "Look at bobbind's status before repeating it, or allow more time")
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
      return client.failure(.notHTTP, "what answered at \(path) does not speak HTTP; is this bobbind's socket?")
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
      return client.failure(
        .connectionClosed,
        "the connection to \(path) was closed before the reply was complete; bobbind may be stopping or too busy. "
          + "The request may have been carried out")
    case CURLE_ABORTED_BY_CALLBACK:
      return client.failure(.givenUp, "the request to \(path) was not sent")
    default:
      let reason = String(cString: curl_easy_strerror(code))
      return client.failure(.transport, "the request to \(path) failed: \(reason) (libcurl error \(code.rawValue))")
    }
  }

  private func connectFailure() -> ControlClientError {
    var number = 0
    _ = ccurl_get_long(handle, CURLINFO_OS_ERRNO, &number)
    return client.connectFailure(Int32(truncatingIfNeeded: number))
  }
}

/// A caller of the client that is told of a connection before the request is sent.
final class Greeter {
  let greet: (Int32) -> Bool
  fileprivate var connection: Int32 = -1

  init(_ greet: @escaping (Int32) -> Bool) { self.greet = greet }
}

/// The place where libcurl reads a body.
private final class BodySource {
  let read: (UnsafeMutableRawBufferPointer) -> Int

  init(_ read: @escaping (UnsafeMutableRawBufferPointer) -> Int) { self.read = read }
}

/// Collects a reply's bytes up to a limit, or passes them on.
final class ReplyBody {
  private(set) var data = Data()
  private(set) var isTooLarge = false
  private(set) var isGivenUp = false
  private let maximumBytes: Int
  private let take: ((UnsafeRawBufferPointer) -> Bool)?
  /// The transfer that the bytes are of, while it runs.
  fileprivate var handle: UnsafeMutableRawPointer?

  /// - Parameter take: Gets the bytes of a good reply, which are not kept then.
  init(maximumBytes: Int, passing take: ((UnsafeRawBufferPointer) -> Bool)? = nil) {
    self.maximumBytes = maximumBytes
    self.take = take
  }

  /// True if a good reply is passed on.
  var isPassedOn: Bool { take != nil }

  private var isGood: Bool {
    var status = 0
    return ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK && 200..<300 ~= status
  }

  /// Returns the number of bytes appended; anything but all of them makes libcurl give up.
  func append(_ bytes: UnsafeRawBufferPointer) -> Int {
    if let take, isGood {
      if take(bytes) { return bytes.count }
      isGivenUp = true
      return 0
    }
    guard bytes.count <= maximumBytes - data.count else {
      isTooLarge = true
      return 0
    }
    data.append(contentsOf: bytes)
    return bytes.count
  }
}
