package import Configuration
import Foundation
import Glibc
import ImageProtocol
package import JSONText
package import Jobs
package import ObjectGraph
package import SystemSupport

/// The type `image.encode`: a picture becomes other pictures, in files and as objects.
///
/// The daemon opens files and moves them to their place; decoding and encoding is the helper's.
package struct ImageEncodeHandler: OwnHandler {
  package static let type = "image.encode"
  package var type: String { Self.type }
  private let helperPath: String
  private let pool: ImageHelperPool
  private let coordinator: PersistentStoreCoordinator
  private let configuration: ConfigurationBox
  private let ownFolders: OwnFolders
  private let cache: PictureCache

  /// Makes the handler; its helpers are started when they are needed.
  ///
  /// - Parameters:
  ///   - helperPath: the path of `bobbin-image`.
  ///   - coordinator: has the store open that pictures are kept in.
  ///   - configuration: read at each attempt.
  ///   - paths: the folders of the daemon, which no job may write to.
  package init(
    helperPath: String, coordinator: PersistentStoreCoordinator, configuration: ConfigurationBox, paths: Paths
  ) {
    self.helperPath = helperPath
    pool = ImageHelperPool(
      configuration: ImageHelperConfiguration(configuration.value.image, helperPath: helperPath))
    self.coordinator = coordinator
    self.configuration = configuration
    ownFolders = OwnFolders(trees: paths.ownTrees, others: paths.ownPlaces, storeOf: coordinator)
    cache = PictureCache(folder: paths.keptPictures)
  }

  package func validate(_ arguments: JSONValue) throws(JobFileError) {
    _ = try ImageEncodeArguments(arguments, presets: configuration.value.imagePresets)
  }

  package var argumentSchema: JSONValue? {
    ImageEncodeArguments.schema(presets: configuration.value.imagePresets.keys.sorted())
  }

  package func paths(in arguments: JSONValue) -> [String] {
    let outputs = arguments.object?["outputs"]?.array ?? []
    return inputs(in: arguments) + outputs.flatMap { $0.object?["path"]?.texts ?? [] }
  }

  package func inputs(in arguments: JSONValue) -> [String] { arguments.object?["input"]?.texts ?? [] }

  package func replacingPaths(in arguments: JSONValue, with change: (String) -> String) -> JSONValue {
    guard var object = arguments.replacingText("input", with: change).object else { return arguments }
    if let outputs = object["outputs"]?.array {
      object["outputs"] = .array(outputs.map { $0.replacingText("path", with: change) })
    }
    return .object(object)
  }

  package nonisolated(nonsending) func run(_ execution: JobExecution) async throws -> JSONValue {
    let settings = configuration.value
    let arguments: ImageEncodeArguments
    do throws(JobFileError) {
      arguments = try ImageEncodeArguments(execution.arguments, presets: settings.imagePresets)
    } catch {
      throw JobFailure(error.description)
    }
    let submitter = try execution.submitterIdentity()
    let input = try openInput(arguments.input, of: execution, for: submitter, limit: settings.image.maxInputSize)
    let inputStatus = try input.status()
    let defaultMode = UInt32(settings.image.mode, radix: 8) ?? 0o644
    var outputs: [EncodedOutput] = []
    for output in arguments.outputs {
      let file = try output.path.map { path in
        try OutputFile(
          path: execution.absolutePath(path.fixed ?? path.text), isNamed: path.fixed != nil,
          mode: output.mode ?? defaultMode, isRepeated: execution.attempt > 1, input: inputStatus, submitter: submitter,
          sparing: ownFolders)
      }
      let stored = try output.storedTitle.map { try StoredPicture(title: $0, in: coordinator.stagingDirectory) }
      outputs.append(EncodedOutput(arguments: output, file: file, stored: stored))
    }
    try EncodedOutput.refuseSamePlaces(outputs.map { output in output.isNamed ? try output.place() : nil })
    execution.progress = JobProgress(total: Int64(outputs.count), unit: "outputs")
    let reuse = try reuse(arguments, settings.image)
    for index in outputs.indices { outputs[index].kept = reuse?.descriptor(ofOutput: index) }
    let reply = try await encode(
      arguments, input: input, outputs: outputs, reuse: reuse, settings: settings.image, execution: execution)
    do { try reuse?.keep(reply) } catch { execution.log("the pictures can't be kept for reuse: \(error)") }
    let paths = EncodedOutput.paths(of: outputs, reply, input: arguments.input)
    // All of them, before the first file gets its name.
    try EncodedOutput.refuseSamePlaces(zip(outputs, paths).map { output, path in try output.place(at: path) })
    var objects: [JSONValue?] = []
    for (output, picture) in zip(outputs, reply.outputs) {
      objects.append(try await output.stored?.keep(picture, in: execution.context))
    }
    for (output, path) in zip(outputs, paths) {
      if let path { try output.publish(as: path, after: execution.checkOwnership) }
    }
    return reply.result(paths: paths.map { $0.map(execution.absolutePath) }, objects: objects)
  }

  package func removeLeftovers(of arguments: JSONValue, submitter: UInt32, payloadDirectory: String) throws {
    let arguments = try ImageEncodeArguments(arguments, presets: configuration.value.imagePresets)
    let user = try UserIdentity(lookingUp: submitter)
    for path in arguments.outputs.lazy.compactMap({ $0.path?.fixed ?? $0.path?.text }) {
      let place = try OutputPlace(path.hasPrefix("/") ? path : payloadDirectory + "/" + path, for: user)
      try place.check(sparing: ownFolders)
      try place.removeLeftovers()
    }
  }

  package func configurationDidChange() {
    let helpers = ImageHelperConfiguration(configuration.value.image, helperPath: helperPath)
    Task(executorPreference: WorkQueues.tasks) { [pool] in await pool.reconfigure(helpers) }
  }

  package var helperCounts: HelperCounts? { pool.counts }

  package func shutDown(by deadline: Deadline) async { await pool.shutDown(by: deadline) }

  private func openInput(
    _ name: String, of execution: JobExecution, for submitter: UserIdentity, limit: Int
  ) throws -> FileDescriptor {
    let path = execution.absolutePath(name)
    let file = try execution.openInput(name, for: submitter)
    do throws(SystemError) {
      if try file.status().size <= limit { return file }
    } catch {
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
    }
    throw JobFailure("the input \(displayName(path)) is larger than \(limit) bytes")
  }

  /// Returns the pictures that this job shares with others, if it may.
  private func reuse(_ arguments: ImageEncodeArguments, _ settings: Configuration.Image) throws -> PictureReuse? {
    guard arguments.reuses, settings.reuseSize > 0, !arguments.outputs.isEmpty || arguments.wantsPlaceholder else {
      return nil
    }
    let request = ImageRequest(
      outputs: arguments.outputs.map(\.picture.normalized), isTurned: arguments.isTurned, failOn: arguments.failOn,
      wantsPlaceholder: arguments.wantsPlaceholder)
    return try PictureReuse(cache, request, limit: settings.reuseSize)
  }

  private nonisolated(nonsending) func encode(
    _ arguments: ImageEncodeArguments, input: borrowing FileDescriptor, outputs: [EncodedOutput],
    reuse: PictureReuse?, settings: Configuration.Image, execution: JobExecution
  ) async throws -> ImageReply {
    let limits = ImageLimits(
      maxPixels: settings.maxPixels, maxBytes: settings.maxInputSize, maxPages: settings.maxPages,
      textBytes: settings.maxTextSize,
      processorSeconds: max(1, Int(settings.timeout.components.seconds)))
    let request = ImageRequest(
      outputs: outputs.map(\.picture), allow: settings.inputFormats.compactMap(ImageFormat.init), limits: limits,
      isTurned: arguments.isTurned, failOn: arguments.failOn, wantsPlaceholder: arguments.wantsPlaceholder,
      keepsFiles: reuse != nil)
    let number = input.number
    do throws(ImageError) {
      let reply = try await pool.encode(
        request, input: number, outputs: outputs.flatMap(\.descriptors), reuse: reuse,
        onWait: { wait in
          execution.setWaiting(wait != nil)
          execution.updateProgress { $0.message = wait }
        }, didMake: { made in execution.updateProgress { $0.done = Int64(made) } })
      execution.updateProgress { $0.done = Int64(outputs.count) }
      for (index, output) in outputs.enumerated() { try output.synchronize(number: index + 1) }
      return reply
    } catch {
      if error.code == .cancelled || error.code == .shutDown { throw CancellationError() }
      if error.code == .helperNotStarted { throw HostFault(error.message) }
      var failure = JobFailure(
        "the input \(displayName(arguments.input)): \(error.message)", isPermanent: error.permanent)
      failure.isShortage =
        error.code == .output && !error.permanent && outputs.flatMap(\.descriptors).contains(where: Self.isDiskFull)
      throw failure
    }
  }

  /// True if the disk that a file is on has no room.
  private static func isDiskFull(_ descriptor: Int32) -> Bool {
    var status = statvfs()
    return fstatvfs(descriptor, &status) == 0 && UInt64(status.f_bavail) * UInt64(status.f_bsize) < 64 << 10
  }
}

extension ImageReply {
  /// Returns the job's result.
  ///
  /// - Parameters:
  ///   - paths: where each output's file is; nil for one without a file.
  ///   - objects: which object each output is kept as; nil for one that is not kept.
  func result(paths: [String?], objects: [JSONValue?]) -> JSONValue {
    var found = Self.picture(
      input.format, width: input.width, height: input.height, pages: input.pages, bytes: input.bytes,
      sha256: input.sha256)
    found["note"] = input.note.map(JSONValue.string)
    var result: JSONObject = [
      "input": .object(found),
      "outputs": .array(
        outputs.indices.map { index in
          let output = outputs[index]
          var object = Self.picture(
            output.format, width: output.width, height: output.height, pages: output.pages, bytes: output.bytes,
            sha256: output.sha256)
          object["quality"] = output.quality.map { .integer(Int64($0)) }
          if reused.contains(index) { object["reused"] = true }
          object["path"] = paths[index].map(JSONValue.string)
          object["object"] = objects[index]
          return .object(object)
        }),
    ]
    if let placeholder {
      result["placeholder"] = .object([
        "picture": .string(placeholder.picture), "colour": .string(placeholder.colour.text),
      ])
    }
    if isReused { result["reused"] = true }
    return .object(result)
  }

  private static func picture(
    _ format: ImageFormat, width: Int, height: Int, pages: Int, bytes: Int, sha256: String
  ) -> JSONObject {
    var object: JSONObject = [
      "format": .string(format.rawValue), "width": .integer(Int64(width)), "height": .integer(Int64(height)),
      "bytes": .integer(Int64(bytes)), "sha256": .string(sha256),
    ]
    if pages > 1 { object["pages"] = .integer(Int64(pages)) }
    return object
  }
}
