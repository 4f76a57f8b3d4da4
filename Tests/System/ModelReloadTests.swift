import DaemonTesting
import Foundation
import Glibc
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Models that a reload brings")
  struct ModelReload {
    private static let number = #"<attribute name="number" optional="YES" attributeType="Double"/>"#
    private static let note = #"<attribute name="note" optional="YES" attributeType="String"/>"#

    private static func entity(_ name: String, _ properties: String) -> String {
      "<entity name=\"\(name)\">\n\(properties)\n</entity>"
    }

    private static func write(_ entities: String, as name: String = "Test", to root: DaemonRoot) throws {
      try root.write(TestModel.model(entities), to: root.paths.models + "/\(name).xcdatamodel/contents")
    }

    private static func importJob(_ entity: String, _ input: String) -> String {
      #"{"type": "import", "arguments": {"input": "\#(input)", "entity": "\#(entity)"}}"#
    }

    /// Declares a type whose program waits until somebody writes to a pipe, and waits until a job of it runs.
    private static func startGate(_ daemon: DaemonProcess) async throws {
      let root = daemon.root
      let job = #"{"type": "gate", "id": "gate"}"#
      try root.drop(job, as: "gate.json")
      try await daemon.wait { FileManager.default.fileExists(atPath: $0.root.paths.payload + "/begun") }
    }

    private static func declareGate(in root: DaemonRoot) throws {
      try #require(mkfifo(root.paths.payload + "/gate", 0o600) == 0)
      try root.declare("gate", "echo > begun; read line < gate\n")
    }

    private static func openGate(_ root: DaemonRoot) async throws {
      try await onThread { try Data("go\n".utf8).write(to: URL(filePath: root.paths.payload + "/gate")) }
    }

    @Test("New entities and attributes are taken without a restart, once the running job has ended")
    func additions() async throws {
      let root = try DaemonRoot(model: TestModel.model(Self.entity("Reading", Self.number)))
      try Self.declareGate(in: root)
      try root.payload("r.csv", "number\n1\n")
      try root.payload("later.csv", "number,note\n2,x\n")
      try root.payload("o.csv", "name\nfirst\n")
      let daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.submit(Self.importJob("Reading", "r.csv")).first?["state"]?.string == "completed")
      let refused = try await daemon.request("POST", "/v1/jobs", body: Self.importJob("Order", "o.csv"))
      #expect(refused.status == 400)

      try await Self.startGate(daemon)
      try Self.write(Self.entity("Reading", Self.number + Self.note), to: root)
      try Self.write(
        Self.entity("Order", #"<attribute name="name" optional="YES" attributeType="String"/>"#), as: "Orders", to: root
      )
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.output.contains("the next start or reload migrates \(root.paths.store):\n"), "\(check.output)")
      let started = try await daemon.get("/v1/status")["startedAt"]
      try daemon.child.kill(SIGHUP)
      try await daemon.wait { $0.managerStatus == "taking new models: finishing running jobs" }
      // It answers meanwhile, and what comes waits.
      try await withTimeout { while try await daemon.get("/v1/status")["state"]?.string != "draining" {} }
      try root.drop(#"{"type": "noop", "id": "meanwhile"}"#, as: "meanwhile.json")
      try await Self.openGate(root)
      try await daemon.waitForLog("bobbind: reloaded")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(
        try await root.sql("SELECT id, state, attempt FROM Job WHERE id IN ('gate', 'meanwhile') ORDER BY id")
          == "gate|completed|1\nmeanwhile|completed|1")

      for job in [Self.importJob("Order", "o.csv"), Self.importJob("Reading", "later.csv")] {
        #expect(try await daemon.submit(job).first?["state"]?.string == "completed")
      }
      let rows = try await root.sql("SELECT number, note FROM Reading ORDER BY 1; SELECT name FROM _view_Order")
      #expect(rows == "1.0|\n2.0|x\nfirst")
      #expect(
        daemon.logText.contains("taking new models as soon as the running jobs have ended: "), "\(daemon.logText)")
      let status = try await daemon.get("/v1/status")
      #expect(status["untakenModels"]?.array?.isEmpty == true)
      // It is the same process, which goes on counting.
      #expect(status["startedAt"] == started)
      #expect(status["jobs"]?["completed"]?.integer ?? 0 >= 5, "\(status)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("An import that is at work when models are taken goes on afterwards, and imports each record once")
    func runningImport() async throws {
      let root = try DaemonRoot(
        "[Writer]\nFlushIntervalSec=20ms\nShutdownTimeoutSec=1s\n[Import]\nChunkRows=200\n",
        model: TestModel.model(Self.entity("Reading", Self.number)))
      let count = 150_000
      try root.payload("many.csv", "number\n" + (1...count).map { "\($0)\n" }.joined())
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(Self.importJob("Reading", "many.csv"), as: "many.json")
      try await daemon.waitForStoreWrites(20)
      try Self.write(Self.entity("Reading", Self.number + Self.note), to: root)
      try await daemon.reload()
      #expect(daemon.logText.contains("Reading.note is new"))
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(
        try await root.sql("SELECT count(*), count(DISTINCT number) FROM Reading; SELECT state FROM Job")
          == "\(count)|\(count)\ncompleted")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("What a reload can't take is told with what can be done, and the daemon goes on with the old models")
    func refusals() async throws {
      let root = try DaemonRoot(model: TestModel.model(Self.entity("Reading", Self.number + Self.note)))
      try root.payload("r.csv", "number,note\n1,x\n")
      let daemon = try await DaemonProcess.ready(root)
      func imports() async throws {
        #expect(try await daemon.submit(Self.importJob("Reading", "r.csv")).first?["state"]?.string == "completed")
      }
      try await imports()

      try Self.write(Self.entity("Reading", Self.number), to: root)
      try await daemon.reload()
      let removal = "Reading.note goes: a reload only adds to the models; restart the daemon to have it take this"
      #expect(daemon.logText.contains("the new models are not taken: \(removal)"), "\(daemon.logText)")
      #expect(try await daemon.get("/v1/status")["untakenModels"]?.array?.compactMap(\.string) == [removal])
      #expect(daemon.managerStatus?.contains("new models are not taken: Reading.note goes") == true)
      #expect(try await daemon.tool("status").output.contains("not taken: Reading.note goes"))
      try await imports()

      try Self.write("<entity name=\"Reading\">", to: root)
      try Self.write(Self.entity("Other", "<attribute name=\"a\" attributeType=\"Strnig\"/>"), as: "Other", to: root)
      try await daemon.reload()
      for file in ["Test", "Other"] {
        #expect(
          daemon.logLines.contains { $0.contains("\(root.paths.models)/\(file).xcdatamodel") }, "\(daemon.logText)")
      }
      try FileManager.default.removeItem(atPath: root.paths.models + "/Other.xcdatamodel")
      try await imports()

      let code = #"<attribute name="code" attributeType="String"/>"#
      try Self.write(Self.entity("Reading", Self.number + Self.note + code), to: root)
      try await daemon.reload()
      #expect(daemon.logText.contains("write into \(root.paths.models)/migration.conf what is to be done:"))
      let hash = try await root.sql("SELECT substr(value, 1, 8) FROM _metadata WHERE key = 'model'")
      try root.write("from \(hash)\ndefault Reading.code \"none\"\n", to: root.paths.models + "/migration.conf")
      try await daemon.reload()
      #expect(try await root.sql("SELECT DISTINCT code FROM Reading") == "none")
      #expect(try await daemon.get("/v1/status")["untakenModels"]?.array?.isEmpty == true)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A stop while models are being taken ends the daemon in order")
    func stopMeanwhile() async throws {
      let root = try DaemonRoot()
      try Self.declareGate(in: root)
      let daemon = try await DaemonProcess.ready(root)
      try await Self.startGate(daemon)
      try Self.write(Self.entity("Order", Self.number), as: "Orders", to: root)
      try daemon.child.kill(SIGHUP)
      try await daemon.wait { $0.managerStatus == "taking new models: finishing running jobs" }
      try daemon.child.kill(SIGTERM)
      try await daemon.waitForLog("stopping")
      try await Self.openGate(root)
      #expect(try await daemon.waitForEnd() == .exited(code: 0))
      #expect(try await root.sql("SELECT state FROM Job") == "completed")
      #expect(!FileManager.default.fileExists(atPath: root.paths.socket))
      #expect(try await root.sql("SELECT count(*) FROM sqlite_master WHERE name = 'Order'") == "0")
    }

    @Test(
      "A host of a fleet takes what the others can live with, and names them where they can't",
      .enabled(if: PostgresCluster.isAvailable()))
    func fleet() async throws {
      let database = try PostgresCluster.makeDatabase()
      func root(_ name: String) throws -> DaemonRoot {
        try DaemonRoot(
          "[Store]\nUrl=\(database.url)\n[Fleet]\nName=\(name)\n\(DaemonRoot.quickFlushes)",
          model: TestModel.model(Self.entity("Reading", Self.number)))
      }
      let roots = [try root("a"), try root("b")]
      let first = try await DaemonProcess.ready(roots[0])
      let second = try await DaemonProcess.ready(roots[1])
      for root in roots { try root.payload("r.csv", "number\n1\n") }
      try roots[0].payload("o.csv", "number\n5\n")
      try Self.write(
        Self.entity("Reading", Self.number + Self.note) + Self.entity("Order", Self.number), to: roots[0])
      try await first.reload()
      #expect(first.logText.contains("Order is new"), "\(first.logText)")
      #expect(try await first.submit(Self.importJob("Order", "o.csv")).first?["state"]?.string == "completed")
      #expect(try await second.submit(Self.importJob("Reading", "r.csv")).first?["state"]?.string == "completed")
      #expect(try database.run(#"SELECT number FROM bobbin."_view_Order""#) == "5")

      let owner =
        #"<relationship name="orders" toMany="YES" destinationEntity="Order" inverseName="reading" optional="YES"/>"#
      let order = #"<relationship name="reading" destinationEntity="Reading" inverseName="orders" optional="YES"/>"#
      try Self.write(
        Self.entity("Reading", Self.number + Self.note + owner) + Self.entity("Order", Self.number + order),
        to: roots[0])
      try await first.reload()
      #expect(first.logText.contains("That can't be changed while b:"), "\(first.logText)")
      #expect(try await first.submit(Self.importJob("Reading", "r.csv")).first?["state"]?.string == "completed")
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "2")
      #expect(try await first.stop() == .exited(code: 0))
      #expect(try await second.stop() == .exited(code: 0))
    }
  }
}
