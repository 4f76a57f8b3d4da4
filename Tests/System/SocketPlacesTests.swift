import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Places on the socket", .enabled(if: SkipReason.runsAsRoot()))
  struct SocketPlaces {
    private let root: DaemonRoot

    init() throws {
      root = try DaemonRoot()
      try #require(chmod(root.directory.path, 0o755) == 0)
    }

    private func start() async throws -> DaemonProcess {
      try await DaemonProcess.ready(root, wrapper: try OtherUser.memberGroupWrapper(root))
    }

    /// The daemon's open sockets.
    private static func sockets(_ daemon: DaemonProcess) throws -> Int {
      let folder = "/proc/\(daemon.child.processID)/fd"
      return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + name)
        return target?.hasPrefix("socket:") ?? false
      }
    }

    @Test(
      "Who opens as many connections as can be keeps nobody else from being answered",
      arguments: [OtherUser.stranger, OtherUser.member], ["", "GET / HT"])
    func crowd(attacker: OtherUser, text: String) async throws {
      let daemon = try await start()
      let crowd = try SocketCrowd(of: attacker, to: daemon, count: 70, saying: text)
      for _ in 0..<10 {
        #expect(try await daemon.tool("status").code == 0)
        #expect(try await OtherUser.otherMember.request(daemon, "/v1/jobs", ["-d", #"{"type": "noop"}"#]) == 202)
      }
      // Each has a second descriptor for its deadline.
      #expect(try Self.sockets(daemon) < 100)
      try await crowd.leave()
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Who is in no group that may connect is told which one may, and how to join it")
    func outside() async throws {
      let daemon = try await start()
      let socket = root.paths.socket
      let group = try #require(getgrnam("adm")).pointee.gr_gid
      try #require(chown(socket, 0, group) == 0 && chmod(socket, 0o660) == 0)
      let tool = try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false)
      let told = try await OtherUser(user: 65_534, group: 65_534).run(
        tool, ["--root", root.directory.path, "status"])
      #expect(told.code == 77)
      #expect(
        told.errors.contains(
          "you may not connect to \(socket); members of the group adm may: as root, run \"adduser nobody adm\", then log in again"
        ), "\(told.errors)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Of clients that go while they wait nothing stays: neither connection nor place")
    func waits() async throws {
      let daemon = try await start()
      let body = #"{"type": "noop", "notBefore": "2099-01-01T00:00:00Z"}"#
      let request = "POST /v1/jobs?wait=86400 HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
      let before = try Self.sockets(daemon)
      for round in 1...4 {
        let crowd = try SocketCrowd(of: .member, to: daemon, count: 12, saying: request)
        // All of them have their jobs, so they wait.
        while try await daemon.get("/v1/status")["jobs"]?["scheduled"]?.integer != Int64(12 * round) {}
        // The user has no place for another that waits, but for those who ask.
        let wait = ["-d", #"{"type": "noop"}"#]
        #expect(try await OtherUser.member.request(daemon, "/v1/jobs?wait=60", wait) == 503)
        #expect(try await OtherUser.member.request(daemon, "/v1/status") == 200)
        #expect(try await OtherUser.otherMember.request(daemon, "/v1/jobs?wait=60", wait) == 200)
        try await crowd.leave()
      }
      // A request or two later the last of them is noticed; the request itself has a connection of two descriptors.
      var left = Int.max
      for _ in 0..<200 where left > before + 2 {
        _ = try await daemon.get("/v1/status")
        left = try Self.sockets(daemon)
      }
      #expect(left <= before + 2)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A client that asks for long lists and reads none costs a bounded amount of memory, which is given back")
    func unreadReplies() async throws {
      let daemon = try await start()
      func resident() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(daemon.child.processID)/statm", encoding: .utf8)
        return (Int(text.split(separator: " ")[1]) ?? 0) * 4096
      }
      let jobs = Array(repeating: #"{"type": "noop"}"#, count: 10_000).joined(separator: ",")
      _ = try await daemon.submit("{\"jobs\": [\(jobs)]}")
      _ = try await daemon.request("GET", "/v1/jobs", query: ["limit": "10000"])
      let before = try resident()
      let request = String(repeating: "GET /v1/jobs?limit=10000 HTTP/1.1\r\nHost: x\r\n\r\n", count: 3)
      let crowd = try SocketCrowd(of: .member, to: daemon, count: 60, saying: request)
      var most = 0
      for _ in 0..<10 {
        _ = try await daemon.request("GET", "/v1/jobs", query: ["limit": "10000"])
        most = max(most, try resident())
      }
      try await crowd.leave()
      _ = try await daemon.request("GET", "/v1/jobs", query: ["limit": "10000"])
      let after = try resident()
      print("unread lists: \(before >> 20) MiB before, at most \(most >> 20), \(after >> 20) afterwards")
      #expect(most - before < 120 << 20)
      #expect(after - before < 60 << 20)
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
