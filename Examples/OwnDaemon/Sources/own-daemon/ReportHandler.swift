import BobbinDaemon
import Foundation

/// The type `folder.report`: how many files, bytes and lines a catalogue has.
struct ReportHandler: JobHandler {
  let type = "folder.report"
  let hasOutsideEffects = false

  func validate(_ arguments: JSONValue) throws(JobFileError) { _ = try catalogue(arguments) }

  private func catalogue(_ arguments: JSONValue) throws(JobFileError) -> String {
    guard let catalogue = arguments["catalogue"]?.string else {
      throw JobFileError("must be the ID of a job of the type folder.catalogue", key: "arguments.catalogue")
    }
    return catalogue
  }

  func run(_ execution: JobExecution) async throws -> JSONValue {
    let catalogue = try catalogue(execution.arguments)
    return try await execution.context.perform { context in
      var (files, bytes, lines): (Int64, Int64, Int64) = (0, 0, 0)
      // Read some hundred rows at a time, however many there are.
      for entry in try context.fetchLazily(FetchRequest<CatalogueEntry>(#Predicate { $0.catalogue == catalogue })) {
        files += 1
        bytes += entry.byteCount
        lines += entry.lineCount
      }
      return ["files": .integer(files), "bytes": .integer(bytes), "lines": .integer(lines)]
    }
  }
}
