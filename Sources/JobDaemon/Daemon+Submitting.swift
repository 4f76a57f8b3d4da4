import Foundation
import JSONText
import Jobs
import ObjectGraph
import SystemSupport

/// Jobs that clients submit.
extension Daemon {
  /// Admits a job file submitted over the socket; it is durable in the spool before this returns.
  ///
  /// - Parameters:
  ///   - inputs: what came with it, which it names as `upload:NAME`; it is durable as well then.
  ///   - directory: where relative paths in arguments start; nil for `payload/`, as in files that are dropped.
  ///   - trace: the trace that the client is in.
  ///   - key: the client's key for it.
  ///   - tag: the client's word for it, which the name of the file gets, unless it has a key.
  /// - Returns: the file, with its jobs in their order.
  func accept(
    _ data: Data, with inputs: ReceivedInputs? = nil, submitter: UInt32, directory: String? = nil,
    trace: TraceContext? = nil, key: SubmissionKey? = nil, tag: String? = nil
  ) throws -> [AdmittedFile] {
    let name = key.map { Submitter.fileName(for: submitter, as: $0) } ?? Submitter.fileName(for: submitter, tag: tag)
    let file = try completing(data, with: inputs, as: name, from: directory, trace)
    let accept = { [self] in
      guard let inputs else { return try intake.accept(file, as: name, submitter: submitter) }
      return try uploads.keep(inputs.folder, for: name) { try intake.accept(file, as: name, submitter: submitter) }
    }
    // Large inputs take their time, in which other submissions with keys don't wait.
    try inputs?.folder.synchronize()
    guard let key else { return try accept() }
    return try keyedSubmissions.sync {
      if try isUsed(key, submitter) { throw KeyReused() }
      return try accept()
    }
  }

  /// The lines that a client has sent, with paths that start at its folder.
  ///
  /// Reads and writes the file once, in the memory of its longest line.
  func resolvingPaths(in lines: SpooledFile, from directory: String) throws -> SpooledFile {
    try spool.copy(lines, lineLimit: configuration.value.spool.maxJobFileSize) { [handlers] line in
      guard let job = try? JSONValue(parsing: line, dialect: .json5) else { return line }
      let resolved = handlers.resolvingPaths(of: job) { $0.absolutePath(from: directory) }
      return resolved == job ? line : resolved.serializedBytes()[...]
    }
  }

  /// The text of a file whose paths start where its client says, and whose inputs are where the daemon keeps them.
  private func completing(
    _ data: Data, with received: ReceivedInputs?, as name: FileName, from directory: String?, _ trace: TraceContext?
  ) throws(JobFileError) -> Data {
    var named: Set<String> = []
    func place(of path: String) -> String {
      guard let input = ReceivedInputs.input(named: path) else {
        return directory.map { path.absolutePath(from: $0) } ?? path
      }
      named.insert(input)
      return received?.files[input].map { uploads.path(of: $0, in: name) } ?? path
    }
    let hasPlaces = directory != nil || received != nil || data.firstRange(of: Data(ReceivedInputs.prefix.utf8)) != nil
    let file = try handlers.completing(data, paths: hasPlaces ? place : nil, trace: trace, configuration.value)
    let inputs = Set((received?.files ?? [:]).keys)
    if let missing = named.subtracting(inputs).min() {
      throw JobFileError(
        "it names the input \"\(ReceivedInputs.prefix)\(missing)\", which did not come with it; "
          + "`bobbinctl submit --input \(missing)=FILE` sends it along")
    }
    if let left = inputs.subtracting(named).min() {
      // Other mistakes are told first, as they may be the reason.
      _ = try handlers.parse(data, at: Date(), configuration.value.jobs.unknownTypes)
      throw JobFileError(
        "no job names the input \"\(ReceivedInputs.prefix)\(left)\", which came with it; arguments that the type declares "
          + "as paths can")
    }
    return file
  }

  /// True if a user has submitted something else with a key.
  private func isUsed(_ key: SubmissionKey, _ submitter: UInt32) throws -> Bool {
    try ManagedObjectContext(parent: main, name: "submission").performAndWait { context in
      let request = try FetchRequest<Job>(format: "id BEGINSWITH %@", key.front, limit: 100)
      let known = try context.fetch(request).filter { $0.submitter == Int64(submitter) }
      return !known.isEmpty && !known.contains { $0.id.hasPrefix(key.id) }
    }
  }
}
