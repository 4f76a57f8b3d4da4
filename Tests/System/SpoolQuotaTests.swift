import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Shares of the spool", .enabled(if: SkipReason.runsAsRoot()))
  struct SpoolQuota {
    private static let settings = DaemonRoot.quickFlushes + "[Spool]\nMaxJobsPerUser=3\nMaxBytesPerUser=4K\n"

    /// A job that stays unfinished.
    private static let job = #"{"type": "noop", "notBefore": "2125-01-01T00:00:00Z"}"#

    private static func jobs(_ count: Int) -> String {
      "{\"jobs\": [" + Array(repeating: job, count: count).joined(separator: ",") + "]}"
    }

    @Test("One user's jobs and bytes are limited, dropped or sent, also after a restart; nobody else's are")
    func limits() async throws {
      let root = try DaemonRoot(Self.settings)
      let wrapper = try OtherUser.memberGroupWrapper(root)
      let daemon = try await DaemonProcess.ready(root, wrapper: wrapper)
      let send = { (user: OtherUser, daemon: DaemonProcess, text: String) in
        try await user.request(daemon, "/v1/jobs", ["--data-binary", text])
      }
      #expect(try await send(.member, daemon, Self.jobs(2)) == 202)
      #expect(try await send(.member, daemon, Self.jobs(2)) == 429)
      try drop(Self.jobs(2), as: "jobs.json", of: .member, in: root)
      try drop("\(Self.job)\n\(Self.job)\n", as: "lines.ndjson", of: .member, in: root)
      try drop(Self.jobs(1) + String(repeating: " ", count: 4096), as: "large.json", of: .member, in: root)
      try await daemon.wait { try $0.root.failedFiles.count == 6 }
      #expect(try root.reason("jobs.json").contains("would have 4 jobs in files that are not finished, and may have 3"))
      #expect(try root.reason("large.json").contains("MaxBytesPerUser"))
      // Lines are refused by their length, before they fill the disk.
      let lines = ["-H", "Content-Type: application/x-ndjson", "--data-binary", Self.job]
      let long = lines.dropLast() + [String(repeating: " ", count: 4096) + Self.job]
      #expect(try await OtherUser.member.request(daemon, "/v1/jobs", Array(long)) == 429)
      #expect(try await OtherUser.member.request(daemon, "/v1/jobs", lines) == 202)
      #expect(try await OtherUser.member.request(daemon, "/v1/jobs", lines) == 429)
      // So are those that become long by the folder that their paths start at.
      let folder = "/v1/jobs?directory=/" + String(repeating: "x", count: 3_000)
      let path = #"{"type": "import", "arguments": {"input": "a", "entity": "Reading"}}"#
      let copied = lines.dropLast() + ["\(path)\n\(path)\n"]
      #expect(try await OtherUser.otherMember.request(daemon, folder, Array(copied)) == 429)
      #expect(try await OtherUser.otherMember.request(daemon, folder + folder.dropFirst(20), Array(copied)) == 400)
      #expect(try await send(.otherMember, daemon, Self.jobs(3)) == 202)
      #expect(try await daemon.request("POST", "/v1/jobs", body: Self.jobs(20)).status == 202)

      try await daemon.kill()
      let again = try await DaemonProcess.ready(root, wrapper: wrapper)
      #expect(try await send(.member, again, Self.jobs(1)) == 429)
      // What is over makes room again.
      let cancelled = try await again.tool("cancel", "--state", "scheduled")
      #expect(cancelled.code == 0, "\(cancelled.errors)")
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await send(.member, again, Self.jobs(3)) == 202)
      // What is copied to have other paths counts once.
      let half = lines.dropLast() + [Self.job + String(repeating: " ", count: 2_500)]
      let status = try await OtherUser.otherMember.request(again, "/v1/jobs?directory=/srv", Array(half))
      #expect(status == 202, "\(again.logText)")
    }

    @Test("Files of a hot folder whose owner has too many jobs wait until some have ended")
    func hotFolder() async throws {
      let root = try DaemonRoot(Self.settings)
      let folder = root.directory.path("in")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try #require(chmod(root.directory.path, 0o755) == 0)
      try root.write("{type: 'noop'}", to: root.directory.path("template.json5"))
      try root.write(
        "[Folder]\nPath=\(folder)\nJob=\(root.directory.path("template.json5"))\nSettle=0\n",
        to: root.paths.hotFolders + "/in.conf")
      let wrapper = try OtherUser.memberGroupWrapper(root)
      let daemon = try await DaemonProcess.ready(root, wrapper: wrapper)
      #expect(try await OtherUser.member.request(daemon, "/v1/jobs", ["--data-binary", Self.jobs(3)]) == 202)
      let hidden = folder + "/.hidden"
      try root.write("text", to: hidden)
      try #require(chown(hidden, OtherUser.member.user, OtherUser.member.group) == 0)
      try #require(rename(hidden, folder + "/file") == 0)
      try await daemon.waitForLog("files wait: its user would have 4 jobs in files that are not finished")
      #expect(try await daemon.tool("cancel", "--state", "scheduled").code == 0)
      try await daemon.waitForLog("job in-file-")
    }

    private func drop(_ text: String, as name: FileName, of user: OtherUser, in root: DaemonRoot) throws {
      let path = root.paths.spoolTemporary + "/drop"
      try root.write(text, to: path)
      try #require(chown(path, user.user, user.group) == 0 && chmod(path, 0o640) == 0)
      try #require(rename(path, root.paths.spoolNew + "/\(name)") == 0)
    }
  }
}
