import BobbinDaemon
import Foundation

/// The type `folder.catalogue`: an entry for each file of a folder and its subfolders, with its bytes and lines.
///
/// Files are taken in the order of their paths, a hundred at a time. The last path is the cursor: it is saved in one
/// transaction with the entries up to it, so an attempt that follows a crash goes on there and writes no entry twice.
struct CatalogueHandler: JobHandler {
  let type = "folder.catalogue"
  /// All it does is in its context; so nothing needs to be on disk before it starts.
  let hasOutsideEffects = false
  static let batchSize = 100

  var settings: JobTypeSettings {
    var settings = JobTypeSettings()
    settings.maxAttempts = 5
    settings.concurrent = 2
    return settings
  }

  func validate(_ arguments: JSONValue) throws(JobFileError) { _ = try folder(arguments) }

  private func folder(_ arguments: JSONValue) throws(JobFileError) -> String {
    guard let folder = arguments["folder"]?.string, !folder.isEmpty else {
      throw JobFileError("must be the path of a folder", key: "arguments.folder")
    }
    return folder
  }

  // It blocks while it reads, which it may do on the context's own thread: with "nonisolated(nonsending)" it stays there.
  nonisolated(nonsending) func run(_ execution: JobExecution) async throws -> JSONValue {
    let root = execution.absolutePath(try folder(execution.arguments))
    let all = try FolderWalk.files(under: root, checking: execution)
    execution.log("there are \(all.count) files")
    var rest = all[...]
    if let cursor = execution.cursor {
      rest = all.drop { $0 <= cursor }
      execution.log("attempt \(execution.attempt) goes on after \(cursor)")
    }
    execution.progress = JobProgress(done: Int64(all.count - rest.count), total: Int64(all.count), unit: "files")
    while let last = rest.prefix(Self.batchSize).last {
      let measures = try rest.prefix(Self.batchSize).compactMap { path in
        try execution.checkCancellation()
        return FileMeasure(path, in: root, for: execution)
      }
      rest = rest.dropFirst(Self.batchSize)
      let catalogue = execution.jobID
      await execution.context.perform { context in
        for measure in measures {
          let entry = CatalogueEntry(context: context)
          entry.catalogue = catalogue
          entry.path = measure.path
          entry.byteCount = measure.byteCount
          entry.lineCount = measure.lineCount
        }
      }
      try await execution.checkpoint(last)
      execution.updateProgress { progress in
        progress.done = Int64(all.count - rest.count)
        progress.message = last
      }
    }
    return ["files": .integer(Int64(all.count))]
  }

  /// Deletes what a job that is given up has saved, the last entries first, with the cursor going back.
  ///
  /// So a crash meanwhile leaves entries and cursor in agreement, too.
  func revert(_ execution: JobExecution) async throws {
    let catalogue = execution.jobID
    while true {
      let cursor = try await execution.context.perform { context -> String? in
        var entries = try context.fetch(
          FetchRequest<CatalogueEntry>(
            #Predicate { $0.catalogue == catalogue }, sortBy: [.descending(\.path)], limit: 1_001))
        if entries.isEmpty { return nil }
        let next = entries.count > 1_000 ? entries.popLast()?.path : nil
        for entry in entries { context.delete(entry) }
        return next ?? ""
      }
      guard let cursor else { return }
      try await execution.checkpoint(cursor)
    }
  }
}
