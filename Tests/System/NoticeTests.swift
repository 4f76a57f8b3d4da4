import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("Notices")
  struct Notices {
    /// A root with a type whose jobs fail for good, and some of the example files.
    private func root(_ files: [String], _ changes: [String: String] = [:]) throws -> DaemonRoot {
      let root = try DaemonRoot()
      try root.write(
        "[Handler]\nType=fails\nExecStart=/bin/sh -c \"exit 65\"\n", to: root.paths.handlers + "/fails.conf")
      let folder = RepositoryPaths.root.appending(path: "Examples/Handlers")
      let path = folder.path(percentEncoded: false)
      for name in files {
        var text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
          .replacing("/usr/local/lib/bobbin/handlers/", with: path.hasSuffix("/") ? path : path + "/")
        for (old, new) in changes { text = text.replacing(old, with: new) }
        let target = name == "notify.conf" ? root.paths.configurationDropIns : root.paths.handlers
        try root.write(text, to: target + "/" + name)
      }
      return root
    }

    /// The ID of a notice without the moment of its event.
    private static let event = "substr(id, 1, length(id) - length('-2026-11-21T10:00:00.123Z'))"

    @Test("The examples send a mail by sendmail, and post to a web service by curl")
    func examples() async throws {
      let tools = try TemporaryDirectory()
      let hook = try TemporaryDirectory()
      let root = try root(
        ["notice-mail.conf", "notify.conf"], ["[Handler]": "[Handler]\nEnvironment=PATH=\(tools.path)"])
      let sendmail = tools.path("sendmail")
      try root.write(
        "#!/bin/sh\necho \"$@\" >\(tools.path("arguments"))\nexec /bin/cat >\(tools.path("mail"))\n", to: sendmail)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: sendmail)
      try root.write(
        """
        import http.server, os
        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                with open("body", "wb") as body:
                    body.write(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()
        server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
        server.timeout = 60
        os.chdir("\(hook.path)")
        with open("\(root.paths.payload)/port", "w") as port:
            port.write(str(server.server_port) + "\\n")
        server.handle_request()
        """, to: hook.path("server.py"))
      let server = Task { try await Tool.run("/usr/bin/python3", [hook.path("server.py")], seconds: 90) }
      let portFile = root.paths.payload + "/port"
      try await root.changes.wait { FileManager.default.contents(atPath: portFile)?.last == UInt8(ascii: "\n") }
      let port = try String(contentsOfFile: portFile, encoding: .utf8).dropLast()
      let webhook = try String(
        contentsOf: RepositoryPaths.root.appending(path: "Examples/Handlers/notice-webhook.conf"), encoding: .utf8)
      try root.write(
        webhook.replacing("https://hooks.example.org", with: "http://127.0.0.1:\(port)"),
        to: root.paths.handlers + "/notice-webhook.conf")

      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"type": "fails", "id": "order-4711"}"#, as: "order.json")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await server.value.code == 0)
      #expect(
        try await root.sql("SELECT \(Self.event), state FROM Job WHERE type LIKE 'notice.%' ORDER BY id")
          == "notice-chat-order-4711-discarded|completed\nnotice-mail-order-4711-discarded|completed")
      let mail = try String(contentsOfFile: tools.path("mail"), encoding: .utf8)
      #expect(try String(contentsOfFile: tools.path("arguments"), encoding: .utf8) == "-t -i\n")
      #expect(mail.contains("To: root@localhost\n"))
      #expect(mail.contains("Subject: [bobbin] the job order-4711 (fails) was discarded: "))
      #expect(mail.contains("\nthe job order-4711 (fails) was discarded: the program /bin/sh exited with code 65"))
      let body = try JSONValue(parsing: Array(Data(contentsOf: URL(filePath: hook.path("body")))))
      #expect(body["type"] == "notice.webhook" && body["arguments"]?["job"]?["id"] == "order-4711")
    }

    @Test("A job whose end was durable when the daemon was killed, and its batch, are told by the next start, and once")
    func killed() async throws {
      let root = try root([])
      let file = #"{"batch": "b", "jobs": [{"type": "fails", "id": "bad"}, {"type": "noop", "id": "good"}]}"#
      let first = try await DaemonProcess.ready(root)
      _ = try await first.submit(file)
      _ = try await first.stop()
      // As a kill between the end of the jobs and the release of their file leaves it.
      try root.write("[Handler]\nType=tell\nExecStart=/bin/true\n", to: root.paths.handlers + "/tell.conf")
      try root.write("[Notify]\nType=tell\nOn=discarded batch\n", to: root.paths.notifiers + "/ops.conf")
      for _ in 1...2 {
        try root.write(file, to: root.paths.spoolCurrent + "/jobs.json")
        let daemon = try await DaemonProcess.ready(root)
        try await daemon.waitUntilSpoolIsEmpty()
        _ = try await daemon.stop()
        #expect(
          try await root.sql("SELECT \(Self.event), state FROM Job WHERE id LIKE 'notice-%' ORDER BY id")
            == "notice-ops-b-batch|completed\nnotice-ops-bad-discarded|completed")
      }
    }

    @Test("A section without a type, or with one that there is no handler for, is refused with its place")
    func badType() async throws {
      let root = try root([])
      try root.configure("[Notify mail]\nOn=batch\n[Notify chat]\nType=chat\n")
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      let file = root.paths.configurationFile
      #expect(check.code == 78)
      #expect(
        check.errors.contains("\(file):3: [Notify chat]: there is no job type \"chat\" for Type=; there are fails"))
      #expect(check.errors.contains("\(file):1: [Notify mail]: needs Type=, "))
      try root.configure("")
      try root.write("[Notify]\nType=chat\n", to: root.paths.notifiers + "/chat.conf")
      let other = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(other.code == 78)
      #expect(other.errors.contains("\(root.paths.notifiers)/chat.conf:1: [Notify chat]: there is no job type"))
    }
  }
}
