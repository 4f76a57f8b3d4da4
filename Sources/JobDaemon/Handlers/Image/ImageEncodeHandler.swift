import Configuration
import Foundation
import ImageProtocol
import JSONText
import Jobs
import ObjectGraph
import SystemSupport

/// The type `image.encode`: a picture becomes other pictures, in files and, if wanted, as an object.
///
/// The daemon opens files and moves them to their place; decoding and encoding is the helper's.
struct ImageEncodeHandler: JobHandler {
  let type = "image.encode"
  private let pool: ImageHelperPool
  private let coordinator: PersistentStoreCoordinator
  private let configuration: ConfigurationBox
  private let ownFolders: OwnFolders

  init(
    pool: ImageHelperPool, coordinator: PersistentStoreCoordinator, configuration: ConfigurationBox, paths: Paths
  ) {
    self.pool = pool
    self.coordinator = coordinator
    self.configuration = configuration
    let staging = coordinator.stagingDirectory.map { [$0, URL(fileURLWithPath: $0).deletingLastPathComponent().path] }
    ownFolders = OwnFolders(paths, storeFolders: staging ?? [])
  }

  func validate(_ arguments: JSONValue) throws(JobFileError) { _ = try ImageEncodeArguments(arguments) }

  func run(_ execution: JobExecution) async throws -> JSONValue {
    let arguments: ImageEncodeArguments
    do throws(JobFileError) { arguments = try ImageEncodeArguments(execution.arguments) } catch {
      throw JobFailure(error.description)
    }
    let settings = configuration.value.image
    let submitter = try execution.submitterIdentity()
    let input = try openInput(
      execution.absolutePath(arguments.input), for: submitter, limit: settings.maxInputSize)
    let inputStatus = try input.status()
    let outputs = try arguments.outputs.map {
      try OutputFile(
        path: execution.absolutePath($0.path), jobID: execution.jobID, input: inputStatus, submitter: submitter,
        sparing: ownFolders)
    }
    execution.progress = JobProgress(total: Int64(outputs.count), unit: "outputs")
    let reply = try await encode(arguments, input, outputs, settings)
    if let title = arguments.storedTitle, let stored = outputs.first, let picture = reply.outputs.first {
      try await keep(stored, picture, title, execution.context)
    }
    for output in outputs {
      try output.publish()
      execution.advance()
    }
    return result(reply, outputs)
  }

  private func openInput(
    _ path: String, for submitter: UserIdentity, limit: Int
  ) throws(JobFailure) -> FileDescriptor {
    let file = try submitter.openInput(path)
    do throws(SystemError) {
      if try file.status().size <= limit { return file }
    } catch {
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
    }
    throw JobFailure("the input \(displayName(path)) is larger than \(limit) bytes")
  }

  private func encode(
    _ arguments: ImageEncodeArguments, _ input: borrowing FileDescriptor, _ outputs: [OutputFile],
    _ settings: Configuration.Image
  ) async throws -> ImageReply {
    let limits = ImageLimits(
      maxPixels: settings.maxPixels, maxBytes: settings.maxInputSize,
      processorSeconds: max(1, Int(settings.timeout.components.seconds)))
    let request = ImageRequest(outputs: arguments.outputs.map(\.picture), limits: limits)
    let number = input.number
    do throws(ImageError) {
      return try await pool.encode(request, input: number, outputs: outputs.map(\.descriptor))
    } catch {
      if error.code == .cancelled || error.code == .shutDown { throw CancellationError() }
      var failure = JobFailure(
        "the input \(displayName(arguments.input)): \(error.message)", isPermanent: error.permanent)
      failure.isFullDisk = error.code == .output && !error.permanent && outputs.contains { $0.isDiskFull }
      throw failure
    }
  }

  /// Keeps a copy of a picture as an object; its bytes go from file to file and never onto main.
  private func keep(
    _ output: OutputFile, _ picture: ImageReply.Output, _ title: String, _ context: ManagedObjectContext
  ) async throws {
    let staging = coordinator.stagingDirectory
    try await context.perform { context in
      let image = Image(context: context)
      image.title = title
      image.format = picture.format.rawValue
      image.width = Int32(picture.width)
      image.height = Int32(picture.height)
      let blob = ImageBlob(context: context)
      blob.dataBlob = try Self.copy(of: output, byteCount: picture.bytes, staging)
      image.blob = blob
    }
  }

  private static func copy(of output: OutputFile, byteCount: Int, _ staging: String?) throws -> Blob {
    guard let staging else { return Blob(try output.content(limit: byteCount)) }
    let path = staging + "/" + UUID().uuidString
    do throws(SystemError) { try output.copy(to: path) } catch {
      // What can't be removed now is removed when the store is opened the next time.
      try? FileManager.default.removeItem(atPath: path)
      throw error
    }
    return Blob(stagedFile: path, byteCount: byteCount)
  }

  private func result(_ reply: ImageReply, _ outputs: [OutputFile]) -> JSONValue {
    let input = reply.input
    return .object([
      "input": Self.picture(input.format, input.width, input.height, input.bytes),
      "outputs": .array(
        zip(reply.outputs, outputs).map { output, file in
          var object = Self.picture(output.format, output.width, output.height, output.bytes).object ?? [:]
          object["path"] = .string(file.path)
          return .object(object)
        }),
    ])
  }

  private static func picture(_ format: ImageFormat, _ width: Int, _ height: Int, _ bytes: Int) -> JSONValue {
    .object([
      "format": .string(format.rawValue), "width": .integer(Int64(width)), "height": .integer(Int64(height)),
      "bytes": .integer(Int64(bytes)),
    ])
  }
}
