import Configuration
import Foundation
import JSONText
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport
import TestSupport

@testable import ProgramHandler

/// A handler for shell scripts on a store in memory, and a job for it.
final class ProcessFixture: Sendable {
  private static let model = """
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    <entity name="Reading"><attribute name="number" attributeType="Integer 16"/>
    <attribute name="note" optional="YES" attributeType="String" maxValueString="5"/>
    <attribute name="when" optional="YES" attributeType="Date"/>
    <attribute name="data" optional="YES" attributeType="Binary"/>
    <attribute name="price" optional="YES" attributeType="Decimal"/>
    <attribute name="flag" optional="YES" attributeType="Boolean"/>
    <attribute name="key" optional="YES" attributeType="UUID"/></entity>
    <entity name="Unique"><attribute name="name" optional="YES" attributeType="String"/>
    <uniquenessConstraints><uniquenessConstraint><constraint value="name"/></uniquenessConstraint></uniquenessConstraints>
    </entity>
    <entity name="Shape" isAbstract="YES"/>
    </model>
    """

  let directory: TemporaryDirectory
  let main: ManagedObjectContext
  let handler: ProcessHandler
  /// The socket where the script is served; nil if the handler starts it.
  let listener: ProgramListener?
  private let execution = Mutex<JobExecution?>(nil)

  /// - Parameters:
  ///   - script: what `/bin/sh` runs.
  ///   - settings: further lines of the definition.
  ///   - isService: true if the script is served at the socket `s.sock` of the folder, rather than started.
  init(_ script: String, _ settings: String = "", isService: Bool = false) throws {
    directory = try TemporaryDirectory()
    try Self.write(Self.model, directory.path("models/Test.xcdatamodel/contents"))
    try Self.write(script, directory.path("script"))
    let program =
      isService ? "Connect=\(directory.path("s.sock"))" : "ExecStart=/bin/sh \(directory.path("script")) %i"
    listener =
      isService
      ? try ProgramListener(directory.path("s.sock"), "/bin/sh", ["script"], folder: directory.path) : nil
    try Self.write(
      "[Handler]\nType=shell\n\(program)\n\(settings)\n",
      directory.path("handlers.d/shell.conf"))
    let coordinator = PersistentStoreCoordinator(
      model: try BuiltInModel.merged(withModelsIn: directory.path("models")))
    try coordinator.open(.inMemory)
    let writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    main = ManagedObjectContext(parent: writer, name: "main")
    let definition = try HandlerDefinition.load(folder: directory.path("handlers.d"))[0]
    handler = ProcessHandler(
      DeclaredType(definition: definition, account: nil), coordinator: coordinator,
      mark: ProcessMark(stateFolder: directory.path))
  }

  private static func write(_ text: String, _ path: String) throws {
    let url = URL(filePath: path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  /// Runs an attempt; the context is saved if it succeeds, and dropped otherwise.
  func run(
    arguments: JSONValue = .object([:]), cursor: String? = nil, attempt: Int = 1, seconds: Double = 60
  ) async throws -> JSONValue {
    let made = try await makeExecution(arguments: arguments, cursor: cursor, attempt: attempt)
    execution.withLock { $0 = made }
    let handler = handler
    let result = try await withTimeout(seconds: seconds) { try await handler.run(made) }
    try await made.context.perform { try $0.save() }
    return result
  }

  func makeExecution(
    arguments: JSONValue = .object([:]), cursor: String? = nil, attempt: Int = 1
  ) async throws -> JobExecution {
    let context = ManagedObjectContext(parent: main, name: "job")
    let objectID = try await context.perform { context in
      let job = Job(context: context)
      job.id = "job 1"
      job.type = "shell"
      try context.save()
      return job.objectID
    }
    let specification = JobSpecification(type: "shell", id: "job 1", priority: 7, maxAttempts: 3, arguments: arguments)
    return JobExecution(
      jobID: "job 1", specification: specification, attempt: attempt, submitter: 1000, context: context,
      objectID: objectID,
      payloadDirectory: directory.path, cursor: cursor, didCheckpoint: {})
  }

  /// The attempt's log and progress.
  var log: String { execution.withLock { $0?.log } ?? "" }
  var progress: JobProgress { execution.withLock { $0?.progress } ?? JobProgress() }

  /// The cursor that the job's last checkpoint saved.
  func cursor() async throws -> String? {
    guard let id = execution.withLock({ $0?.objectID }) else { return nil }
    return try await main.perform { try $0.job(with: id).cursor }
  }

  /// The failure that an attempt ends with.
  func failure(arguments: JSONValue = .object([:]), seconds: Double = 60) async throws -> JobFailure? {
    do {
      _ = try await run(arguments: arguments, seconds: seconds)
      return nil
    } catch let failure as JobFailure {
      return failure
    }
  }

  /// The numbers of the readings that main has, sorted.
  func numbers() async throws -> [Int] {
    try await main.perform { context in
      try context.fetch(FetchRequest<ManagedObject>(entity: "Reading", nil))
        .compactMap { ($0.value(forKey: "number") as? Int64).map(Int.init) }.sorted()
    }
  }

  /// A path in the fixture's folder.
  func path(_ name: String) -> String { directory.path(name) }

  func text(of name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }
}
