import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Requests over TCP, and of browsers")
  struct Access {
    private static let configuration = DaemonRoot.quickFlushes + "[Status]\nListen=127.0.0.1:0\n"
    private let root: DaemonRoot

    init() throws { root = try DaemonRoot(Self.configuration) }

    /// A reply as curl has seen it.
    private struct Reply {
      let status: Int
      /// The header fields, in lower case.
      let headers: String
      let body: JSONValue

      var code: String? { body["error"]?["code"]?.string }
    }

    private static func ask(_ place: [String], _ token: String?, _ options: [String]) async throws -> Reply {
      let authorization = token.map { ["-H", "Authorization: Bearer \($0)"] } ?? []
      let tool = try await Tool.run(
        "/usr/bin/curl", ["-s", "-i", "--max-time", "30"] + authorization + options + place)
      let text = tool.output.replacing("\r\n", with: "\n")
      let end = text.firstRange(of: "\n\n")
      let head = end.map { String(text[..<$0.lowerBound]) } ?? text
      let body = end.map { Array(text[$0.upperBound...].utf8) } ?? []
      return Reply(
        status: head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0, headers: head.lowercased(),
        body: body.isEmpty ? .null : try JSONValue(parsing: body, dialect: .json))
    }

    private func tcp(
      _ daemon: DaemonProcess, _ path: String, _ token: String? = nil, _ options: String...
    ) async throws -> Reply {
      try await Self.ask(["http://127.0.0.1:\(daemon.tcpPort())\(path)"], token, options)
    }

    private func unix(_ daemon: DaemonProcess, _ path: String, _ options: String...) async throws -> Reply {
      try await Self.ask(["--unix-socket", root.paths.socket, "http://localhost\(path)"], nil, options)
    }

    private func reload(_ daemon: DaemonProcess, tokens: [String]) async throws {
      try root.write(tokens.map { $0 + "\n" }.joined(), to: root.paths.tokens)
      try await daemon.reload()
    }

    @Test("A token may do what its role says, under its name, until it is taken away")
    func roles() async throws {
      let (reader, submitter) = (try await AccessByToken("dash", "read"), try await AccessByToken("ci", "submit"))
      let controller = try await AccessByToken(
        "--user", "\(Credentials.effectiveUser == 0 ? 4001 : Credentials.effectiveUser)", "ops", "control")
      let daemon = try await DaemonProcess.ready(root)
      #expect(daemon.logText.contains("there are no tokens, so that nobody is let in over TCP"))
      try await reload(daemon, tokens: ["# tokens", "", reader.line, submitter.line, controller.line])

      let nobody = try await tcp(daemon, "/v1/status")
      #expect(nobody.status == 401 && nobody.code == "unauthorized")
      #expect(nobody.headers.contains("\nwww-authenticate: bearer realm=\"bobbin\"\n"))
      let stranger = try await tcp(daemon, "/v1/status", String(reader.secret.dropLast()) + "z")
      #expect(stranger.status == 401 && stranger.headers.contains("error=\"invalid_token\""))
      #expect(try await tcp(daemon, "/healthz").status == 200)

      let job = #"{"type": "noop", "id": "JOB"}"#
      let pause = #"{"queue": "images"}"#
      for (name, secret, role, statuses) in [
        ("dash", reader.secret, "read", [200, 403, 403]), ("ci", submitter.secret, "submit", [200, 200, 403]),
        ("ops", controller.secret, "control", [200, 200, 200]),
      ] {
        let me = try await tcp(daemon, "/v1/whoami", secret)
        // What a token submits is nobody's, unless it stands for a user.
        let (user, changes, edits): (JSONValue, JSONValue, JSONValue) =
          role == "control" ? (4001, "all", "own") : (65_534, "none", "none")
        let expected: JSONObject = [
          "name": .string(name), "user": user, "role": .string(role), "changes": changes, "edits": edits, "via": "tcp",
        ]
        #expect(me.body == .object(expected))
        let asked = try await [
          tcp(daemon, "/v1/jobs", secret).status,
          tcp(daemon, "/v1/jobs?wait=30", secret, "-d", job.replacing("JOB", with: name)).status,
          tcp(daemon, "/v1/pause", secret, "-d", pause).status,
        ]
        #expect(asked == statuses, "\(name)")
      }
      let ofNobody = try await daemon.get("/v1/jobs/ci")
      #expect(ofNobody["submitter"]?.integer == 65_534)
      let ofOps = try await daemon.get("/v1/jobs/ops")
      #expect(ofOps["submitter"]?.integer != 65_534)
      try await daemon.waitForLog(
        #"the token ops (127.0.0.1) asked: POST /v1/pause {"queue": "images"}: 200"#)
      try await daemon.waitForLog("the token ci (127.0.0.1) asked: POST /v1/jobs: 200")
      #expect(daemon.logText.contains("a wrong token came from 127.0.0.1"))
      #expect(!daemon.logText.contains("the token ci (127.0.0.1) asked: POST /v1/pause"))
      _ = try await tcp(daemon, "/v1/commands", controller.secret, "-d", #"{"command": "cancel", "jobs": ["x"]}"#)

      // Who follows events with a token that is taken away hears nothing more.
      let heard = root.directory.path("heard")
      let follow = [
        "-sSN", "--max-time", "60", "-o", heard, "-H", "Authorization: Bearer \(submitter.secret)",
        "http://127.0.0.1:\(try daemon.tcpPort())/v1/events",
      ]
      #expect(mkfifo(heard, 0o600) == 0)
      async let stream = Tool.run("/usr/bin/curl", follow)
      let pipe = try await onThread {
        let pipe = try #require(FileHandle(forReadingAtPath: heard))
        // The overview comes first, at once.
        #expect(String(decoding: pipe.availableData, as: UTF8.self).contains("event: "))
        return pipe
      }
      // Another token of the same name is another one.
      let rotated = try await AccessByToken("ci", "submit")
      try await reload(daemon, tokens: [reader.line, rotated.line])
      _ = try await daemon.submit(#"{"type": "noop", "id": "unheard"}"#)
      let rest = try await onThread { try pipe.readToEnd() ?? Data() }
      #expect(!String(decoding: rest, as: UTF8.self).contains("unheard"))
      #expect(try await stream.code == 0)
      #expect(try await tcp(daemon, "/v1/status", reader.secret).status == 200)
      #expect(try await tcp(daemon, "/v1/status", submitter.secret).status == 401)
      // A mistake keeps what was in force, and doesn't show what may be a secret.
      try root.write("\(reader.line)\nci submit \(submitter.secret)\n", to: root.paths.tokens)
      try daemon.child.kill(SIGHUP)
      try await daemon.waitForLog(
        "\(root.paths.tokens):2: expected sha256: and 64 digits as the third word; the token itself does not belong here"
      )
      try await daemon.waitForLog("the new configuration is refused, the old one stays in force")
      #expect(try await tcp(daemon, "/v1/status", reader.secret).status == 200)
      #expect(!daemon.logText.contains(submitter.secret))
    }

    @Test(
      "Without a token no body is read; wrong ones are limited, right ones pass, and each address has its connections")
    func limits() async throws {
      try root.configure(Self.configuration + "MaxConnectionsPerUser=4\n")
      let control = try await AccessByToken("ops", "control")
      try root.write(control.line + "\n", to: root.paths.tokens)
      let daemon = try await DaemonProcess.ready(root)
      var statuses: [Int] = []
      for _ in 0..<12 { statuses.append(try await tcp(daemon, "/v1/status", "bobbin_wrong").status) }
      #expect(statuses == [Int](repeating: 401, count: 10) + [429, 429])
      #expect(try await tcp(daemon, "/v1/status", control.secret).status == 200)
      let limited = try await tcp(daemon, "/v1/status", "bobbin_wrong")
      #expect(limited.code == "too-many-tries" && limited.headers.contains("\nretry-after: "))
      #expect(daemon.logLines.count { $0.contains("a wrong token came from") } == 10)

      let port = try #require(UInt16(try daemon.tcpPort()))
      // The server may not have noticed yet that the clients before these have gone.
      let clients = try (0..<8).map { _ in try TCPClient(port: port) }
      let refused = try await clients[7].firstLine()
      #expect(refused == "HTTP/1.1 503 Service Unavailable")
      // The socket of this machine's users has places of its own.
      #expect(try await daemon.request("GET", "/v1/status").status == 200)
      // The body never comes.
      try clients[0].send("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n")
      let answer = try await clients[0].firstLine()
      #expect(answer == "HTTP/1.1 401 Unauthorized")
      for client in clients { client.close() }
    }

    @Test("Pages of other sites change nothing on either socket, and names that lead here by a trick are refused")
    func sites() async throws {
      let control = try await AccessByToken("ops", "control")
      try root.write(control.line + "\n", to: root.paths.tokens)
      try root.configure(Self.configuration + "Hosts=localhost 127.0.0.1 Jobs.example.com\n")
      let daemon = try await DaemonProcess.ready(root)
      let port = try daemon.tcpPort()
      let evil = try await tcp(daemon, "/healthz", control.secret, "-H", "Host: evil.example:\(port)")
      #expect(evil.status == 421 && evil.code == "unknown-host")
      #expect(try await tcp(daemon, "/healthz", nil, "-H", "Host: JOBS.example.com").status == 200)

      // By a bridge, such a name comes to the Unix socket, too; what is no domain's name may be called anything.
      for (host, status) in [("evil.example", 421), ("bobbin", 200), ("10.0.0.7:80", 200), ("jobs.example.com", 200)] {
        #expect(try await unix(daemon, "/v1/status", "-H", "Host: \(host)").status == status, "\(host)")
      }

      let allowed = [
        [], ["Sec-Fetch-Site: same-origin", "Origin: https://jobs.example.com"], ["Sec-Fetch-Site: none"],
        ["Origin: http://HOST"],
      ]
      let refused = [
        ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"], ["Origin: http://evil.example"],
        ["Origin: null"],
        ["Origin: http://localhost:1"], ["Sec-Fetch-Site: same-origin", "Origin: http://evil.example"],
      ]
      for (fields, status) in allowed.map({ ($0, 200) }) + refused.map({ ($0, 403) }) {
        func options(_ host: String) -> [String] {
          ["-d", "{}"] + fields.flatMap { ["-H", $0.replacing("HOST", with: host)] }
        }
        let onTCP = try await Self.ask(
          ["http://127.0.0.1:\(port)/v1/flush"], control.secret, options("127.0.0.1:\(port)"))
        let onUnix = try await Self.ask(
          ["--unix-socket", root.paths.socket, "http://localhost/v1/flush"], nil, options("localhost"))
        #expect(onTCP.status == status && onUnix.status == status, "\(fields)")
        if status == 403 { #expect(onTCP.code == "cross-site" && onUnix.code == "cross-site") }
      }
      // The browser itself keeps replies from pages of other sites.
      #expect(try await unix(daemon, "/v1/status", "-H", "Sec-Fetch-Site: cross-site").status == 200)
      let guards = [
        "content-security-policy: default-src 'none'; frame-ancestors 'none'", "x-content-type-options: nosniff",
        "referrer-policy: no-referrer", "cross-origin-resource-policy: same-origin", "x-frame-options: deny",
      ]
      for reply in [
        try await unix(daemon, "/v1/status"), try await unix(daemon, "/nothing"), try await tcp(daemon, "/v1/status"),
        try await unix(daemon, "/v1/jobs", "-H", "Content-Length: 999999999", "-d", "{}"),
      ] {
        for field in guards { #expect(reply.headers.contains("\n\(field)"), "\(reply.status)") }
        #expect(!reply.headers.contains("set-cookie") && !reply.headers.contains("access-control-"))
      }
      let me = try await unix(daemon, "/v1/whoami")
      #expect(
        me.body
          == .object([
            "name": .string("\(Credentials.effectiveUser)"), "user": .integer(Int64(Credentials.effectiveUser)),
            "role": "control", "changes": "all", "edits": "all", "via": "unix",
          ]))
      try await daemon.waitForLog("user \(Credentials.effectiveUser) (process ")
      try await daemon.waitForLog("asked: POST /v1/flush {}: 200")
    }

    @Test("Systemd's socket is taken, and a file of tokens with mistakes keeps the daemon from starting")
    func passed() async throws {
      try root.configure(DaemonRoot.quickFlushes)
      let credentials = try TemporaryDirectory()
      try root.write(
        "a read sha256:00\n\nb owner sha256:\(String(repeating: "0", count: 64))\nb read sha256:\(String(repeating: "0", count: 64)) root\n",
        to: root.paths.tokens)
      let refused = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(refused.code == 78)
      let place = "bobbind: \(root.paths.tokens):"
      let lines: [String] = refused.errors.split(separator: "\n").map { String($0).replacing(place, with: "") }
      #expect(
        lines == [
          "1: expected sha256: and 64 digits as the third word; the token itself does not belong here",
          "3: expected one of read, submit, control as the second word",
        ])
      // An address of nobody here, and one that somebody has.
      try root.write("", to: root.paths.tokens)
      let other = try TCPListener(address: "127.0.0.1:0")
      for (address, code) in [("192.0.2.1:26224", Int32(78)), (other.address, 69)] {
        try root.configure("[Status]\nListen=\(address)\n")
        let start = try await Tool.run("bobbind", ["--root", root.directory.path])
        #expect(start.code == code && start.errors.contains(address), "\(start.errors)")
      }
      try root.configure(DaemonRoot.quickFlushes)
      let reader = try await AccessByToken("dash", "read")
      try root.write(reader.line + "\n", to: credentials.path("bobbin.tokens"))
      // The tool needs a port before it starts the daemon, at the first client.
      let port = try TCPListener(address: "127.0.0.1:0").address.split(separator: ":").last ?? ""
      let daemon = try DaemonProcess(
        root,
        wrapper: [
          "/usr/bin/systemd-socket-activate", "--listen=127.0.0.1:\(port)", "--fdname=bobbin-tcp",
          "--setenv=NOTIFY_SOCKET", "--setenv=CREDENTIALS_DIRECTORY",
        ], environment: ["CREDENTIALS_DIRECTORY": credentials.path])
      try await daemon.waitForLog("Listening on 127.0.0.1:\(port)")
      let reply = try await Self.ask(["http://127.0.0.1:\(port)/v1/whoami"], reader.secret, [])
      #expect(reply.body["name"]?.string == "dash")
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}

/// A client of TCP that says what a test likes.
private final class TCPClient: Sendable {
  private let number: Int32

  init(port: UInt16) throws {
    number = try systemCall("socket") { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = port.bigEndian
    let number = number
    _ = try withUnsafePointer(to: &address) {
      try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        try systemCall("connect") { connect(number, address, socklen_t(MemoryLayout<sockaddr_in>.size)) }
      }
    }
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  func send(_ text: String) throws {
    let bytes = Array(text.utf8)
    _ = try systemCall("send") { Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
  }

  /// The first line of the reply.
  func firstLine() async throws -> String {
    let number = number
    return try await onThread {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = try systemCall("recv") { recv(number, &bytes, bytes.count, 0) }
      return String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }
  }

  func close() { Glibc.close(number) }
}
