internal import CCurl
import Foundation
import Glibc

/// One request on one libcurl handle, which it owns.
struct Transfer: ~Copyable {
  private let client: ControlClient
  private let target: String
  private let timeout: Duration
  private let handle: UnsafeMutableRawPointer
  private let headers: UnsafeMutablePointer<curl_slist>?

  /// libcurl's global state is set up once per process and kept until it ends.
  private static let globalInitialization = curl_global_init(Int(CURL_GLOBAL_NOTHING))

  init(client: ControlClient, target: String, timeout: Duration) throws(ControlClientError) {
    guard Self.globalInitialization == CURLE_OK, let handle = curl_easy_init() else {
      throw client.failure(.transport, "libcurl could not be started, probably for lack of memory")
    }
    self.client = client
    self.target = target
    self.timeout = timeout
    self.handle = handle
    // An empty Expect header: a local daemon needs no warning before a large body, and waiting for one costs a second.
    headers = curl_slist_append(curl_slist_append(nil, "Content-Type: application/json"), "Expect:")
  }

  deinit {
    curl_easy_cleanup(handle)
    curl_slist_free_all(headers)
  }

  consuming func run(method: String, body: Data?) throws(ControlClientError) -> (status: Int, body: Data) {
    try configure()
    try check([ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, method)])
    // NOBODY tells libcurl that no body follows a HEAD reply's Content-Length.
    if method == "HEAD" { try check([ccurl_set_long(handle, CURLOPT_NOBODY, 1)]) }
    let reply = ReplyBody(maximumBytes: client.maximumReplyBytes)
    // A POST without a body still announces that it is empty.
    try perform(sending: body ?? (method == "POST" ? Data() : nil), into: reply)
    var status = 0
    try check([ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)])
    return (status, reply.data)
  }

  private func configure() throws(ControlClientError) {
    let milliseconds = max(1, min(timeout / .milliseconds(1), Double(Int32.max)))
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

  private func perform(sending body: Data?, into reply: ReplyBody) throws(ControlClientError) {
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
      guard let body else { return curl_easy_perform(handle) }
      return body.withUnsafeBytes { bytes in
        // Without bytes any address will do, but a null pointer would make libcurl read the body from elsewhere.
        let address = bytes.baseAddress ?? UnsafeRawPointer(handle)
        let codes = [
          ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)),
          ccurl_set_pointer(handle, CURLOPT_POSTFIELDS, address),
        ]
        return codes.first { $0 != CURLE_OK } ?? curl_easy_perform(handle)
      }
    }
    if reply.isTooLarge {
      throw client.failure(.replyTooLarge, "the reply is larger than \(client.maximumReplyBytes) bytes; ask for less")
    }
    if code != CURLE_OK { throw failure(code) }
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
    default:
      let reason = String(cString: curl_easy_strerror(code))
      return client.failure(.transport, "the request to \(path) failed: \(reason) (libcurl error \(code.rawValue))")
    }
  }

  private func connectFailure() -> ControlClientError {
    let path = client.socketPath
    var number = 0
    _ = ccurl_get_long(handle, CURLINFO_OS_ERRNO, &number)
    switch Int32(truncatingIfNeeded: number) {
    case ENOENT:
      return client.failure(
        .socketMissing,
        "bobbind does not listen at \(path); is it running? Try \"systemctl status bobbind\", or name its --root")
    case EACCES, EPERM:
      return client.failure(
        .permissionDenied, "you may not connect to \(path); ask for membership in its group (see \"ls -l \(path)\")")
    case ECONNREFUSED:
      return client.failure(
        .connectionRefused,
        "nobody listens at \(path) any more: bobbind has stopped without removing it. Start bobbind again")
    default:
      // glibc keeps this text per thread.
      let reason = String(cString: strerror(Int32(truncatingIfNeeded: number)))
      return client.failure(.transport, "can't connect to \(path): \(reason)")
    }
  }
}
