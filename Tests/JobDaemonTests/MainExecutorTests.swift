import BobbinDaemon
import Configuration
import ControlClient
import Foundation
import JSONText
import ObjectGraph
import SQLiteStore
import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The main context")
struct MainExecutorTests {
  /// A model of rows to import.
  private static let model = """
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    <entity name="Reading" representedClassName="Reading"><attribute name="number" attributeType="Integer 64"/></entity>
    </model>
    """

  @Test("Its executor runs no SQL statement, whatever jobs and requests there are")
  func noStatements() async throws {
    let directory = try TemporaryDirectory()
    let paths = Paths(root: directory.path)
    for path in [paths.state, directory.path("run"), paths.models + "/Test.xcdatamodel", paths.payload] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try Data(Self.model.utf8).write(to: URL(filePath: paths.models + "/Test.xcdatamodel/contents"))
    let rows = (0..<20_000).map { "\($0)\n" }.joined()
    try Data(("number\n" + rows).utf8).write(to: URL(filePath: paths.payload + "/rows.csv"))

    let executors = Mutex<[String: Int]>([:])
    var options = SQLiteStoreOptions()
    options.statementLog = { event in executors.withLock { $0[event.executor, default: 0] += 1 } }
    let coordinator = PersistentStoreCoordinator(model: try BuiltInModel.merged(withModelsIn: paths.models))
    try coordinator.open(.sqlite(at: URL(filePath: paths.store), options: options))
    let configuration = try Configuration.parse(
      "[Writer]\nFlushIntervalSec=5ms\n[Import]\nChunkRows=1000\n", file: "test")
    let null = try FileDescriptor.null()
    let log = DaemonLog(
      journal: Journal(identifier: "test", format: .human, output: null.number), level: .error)
    let box = ConfigurationBox(configuration)
    let handlers = BuiltInHandlers(
      paths, box, coordinator: coordinator,
      imageHelperPath: try RepositoryPaths.executable("bobbin-image").path(percentEncoded: false))
    let parts = Daemon.Parts(
      paths: paths, configuration: box, coordinator: coordinator, handlers: handlers.all, log: log)
    let listener = try UnixListener(path: paths.socket, mode: 0o600)
    let daemon = try Daemon(parts) { failure in preconditionFailure("\(failure)") }
    let server = try StatusService(daemon).server(on: listener.descriptor)
    try daemon.start()
    try server.start()

    try await load(paths)
    let isFlushed = await daemon.stop()
    try await onThread { server.stop() }
    #expect(isFlushed)
    let counts = executors.withLock { $0 }
    #expect(counts["main"] == nil)
    #expect(counts["writer"] ?? 0 > 20)
    try coordinator.close()
  }

  /// Several clients that submit jobs of each type, good and bad, and look at jobs meanwhile.
  private func load(_ paths: Paths) async throws {
    let client = ControlClient(socketPath: paths.socket)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          let id = "i\(number)"
          let importing =
            "{\"type\": \"import\", \"id\": \"\(id)\", \"arguments\": {\"input\": \"rows.csv\", \"entity\": \"Reading\"}}"
          let missing =
            "{\"type\": \"image.encode\", \"arguments\": {\"input\": \"no.jpg\", \"outputs\": [{\"path\": \"a.png\"}]}}"
          let noops = Array(repeating: "{\"type\": \"noop\"}", count: 50).joined(separator: ",")
          try await onThread {
            let wait = [URLQueryItem(name: "wait", value: "60")]
            let body = Data("{\"jobs\": [\(importing), \(missing), \(noops)]}".utf8)
            let reply = try client.send("POST", "/v1/jobs", query: wait, body: body, timeout: .seconds(70))
            #expect(reply.status == 200)
            for path in ["/v1/jobs", "/v1/jobs/\(id)", "/v1/status"] {
              let shown = try client.send("GET", path)
              #expect(shown.status == 200)
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
