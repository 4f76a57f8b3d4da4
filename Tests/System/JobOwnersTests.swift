import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("Who may change whose jobs", .enabled(if: SkipReason.runsAsRoot()))
  struct JobOwners {
    private let root: DaemonRoot

    init() throws {
      root = try DaemonRoot(DaemonRoot.quickFlushes + "[Status]\nControlGroup=operators\n")
      // The arguments are what the job says; a job of an hour later does not say it.
      try root.write(
        "[Handler]\nType=say\nExecStart=/bin/cat\nOptionalArguments=text:string\n",
        to: root.paths.handlers + "/say.conf")
    }

    private func start() async throws -> DaemonProcess {
      let daemon = try await DaemonProcess.ready(root, wrapper: try OtherUser.memberGroupWrapper(root))
      for (user, id) in [(OtherUser.member, "anns"), (.otherMember, "bobs")] {
        let job = #"{"type": "say", "id": "\#(id)", "delay": "1h", "arguments": {"text": "\#(id)"}}"#
        #expect(try await user.request(daemon, "/v1/jobs", ["-d", job]) == 202)
      }
      return daemon
    }

    private func ask(_ user: OtherUser, _ words: String...) async throws -> Tool {
      let program = try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false)
      return try await user.run(program, ["--root", root.directory.path] + words)
    }

    private func text(_ id: String, _ daemon: DaemonProcess) async throws -> String? {
      try await daemon.get("/v1/jobs/\(id)")["arguments"]?["text"]?.string
    }

    @Test("A submitter changes its own jobs only, one by one and by a selection, and nothing that concerns all")
    func submitters() async throws {
      let daemon = try await start()
      for command in [["hold"], ["release"], ["priority", "5"], ["retry"], ["redrive"], ["cancel"], ["delete"]] {
        let refused = try await OtherUser.member.run(
          RepositoryPaths.executable("bobbinctl").path(percentEncoded: false),
          ["--root", root.directory.path] + command + ["bobs"])
        #expect(refused.code != 0, "\(command)")
        #expect(refused.errors.contains("it belongs to user 4002"), "\(command): \(refused.errors)")
      }
      let edited = try await ask(.member, "edit", "bobs", "text=mine")
      #expect(edited.code != 0 && edited.errors.contains("belongs to user 4002"), "\(edited.errors)")
      #expect(try await ask(.member, "edit", "--priority", "5", "bobs").code != 0)
      let bobs = try await daemon.get("/v1/jobs/bobs")
      #expect(bobs["state"]?.string == "scheduled" && bobs["priority"]?.integer == 0)
      #expect(try await text("bobs", daemon) == "bobs")

      // Its own.
      #expect(try await ask(.member, "hold", "anns").code == 0)
      #expect(try await ask(.member, "edit", "anns", "text=mine").code == 0)
      #expect(try await text("anns", daemon) == "mine")
      // Of a selection, its own part; of another user's, nothing.
      #expect(try await ask(.member, "cancel", "--type", "say").output == "1 job cancelled\n")
      #expect(try await ask(.member, "cancel", "--submitter", "4002").output == "0 jobs cancelled\n")
      #expect(try await daemon.get("/v1/jobs/anns")["state"]?.string == "cancelled")
      #expect(try await daemon.get("/v1/jobs/bobs")["state"]?.string == "scheduled")

      let paused = try await ask(.member, "pause")
      #expect(paused.code != 0 && paused.errors.contains("[Status] ControlGroup"), "\(paused.errors)")
      #expect(try await OtherUser.member.request(daemon, "/v1/flush", ["-d", "{}"]) == 200)
      #expect(try await daemon.get("/v1/status")["pauses"]?.array?.isEmpty == true)
      let me = try await OtherUser.member.run(
        "/usr/bin/curl", ["-s", "--unix-socket", root.paths.socket, "http://localhost/v1/whoami"])
      let told = try JSONValue(parsing: Array(me.output.utf8), dialect: .json)
      #expect(told["role"]?.string == "submit" && told["changes"]?.string == "own" && told["edits"]?.string == "own")
    }

    @Test("Who controls the daemon pauses it and starts and stops the jobs of all, and edits nobody's but its own")
    func controllers() async throws {
      let daemon = try await start()
      #expect(try await ask(.controller, "pause", "--type", "say").code == 0)
      #expect(try await ask(.controller, "resume", "--all").code == 0)
      #expect(try await ask(.controller, "hold", "bobs", "anns").code == 0)
      #expect(try await ask(.controller, "edit", "--priority", "7", "bobs").code == 0)
      #expect(try await daemon.get("/v1/jobs/bobs")["priority"]?.integer == 7)
      let edited = try await ask(.controller, "edit", "bobs", "text=mine")
      #expect(edited.code != 0 && edited.errors.contains("acts with that user's rights"), "\(edited.errors)")
      #expect(try await text("bobs", daemon) == "bobs")
      // Root acts as anybody anyway.
      _ = try await daemon.tool(["edit", "bobs", "text=roots"])
      #expect(try await text("bobs", daemon) == "roots")
      // The configuration says who they are.
      try root.configure(DaemonRoot.quickFlushes)
      try await daemon.reload()
      #expect(try await ask(.controller, "pause").code != 0)
    }

    @Test("A process is a member by the groups it has, which the user database need not know")
    func supplementaryGroups() async throws {
      let daemon = try await start()
      let stranger = OtherUser.stranger
      let program = ["/usr/bin/curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-d", #"{"type": "noop"}"#]
      let place = ["--unix-socket", root.paths.socket, "http://localhost/v1/jobs"]
      for (groups, status) in [("--clear-groups", "403"), ("--groups=1,2,\(OtherUser.member.group)", "202")] {
        let reply = try await Tool.run(
          "/usr/bin/setpriv", ["--reuid=\(stranger.user)", "--regid=\(stranger.group)", groups] + program + place)
        #expect(reply.output == status, "\(groups)")
      }
      // More of them than are asked for at first.
      let many = (5_000..<5_100).map(String.init).joined(separator: ",")
      let reply = try await Tool.run(
        "/usr/bin/setpriv",
        ["--reuid=\(stranger.user)", "--regid=\(stranger.group)", "--groups=\(many),\(OtherUser.member.group)"]
          + program + place)
      #expect(reply.output == "202")
      _ = daemon
    }
  }
}
