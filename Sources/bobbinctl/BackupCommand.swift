import Configuration
import Foundation
import JSONText
import StoreCopy
import StoreInterface
import SystemSupport
import TextSupport

/// `bobbinctl backup`: copies the store and what belongs to it into a folder of its own.
struct BackupCommand: Subcommand {
  static let name = "backup"
  static let usage = "backup [--replace] [--json] DIR"
  static let summary = "Back the store up into a new folder"
  static let details = """
    DIR gets the store as it is at one moment, with its large values, what is remembered of schedules and hot folders, and
    backup.json, which tells what is in it. It appears under its name when it is complete, on disk and checked; after an
    error nothing is left. It belongs to the user who runs this alone.

    Needs the rights of root or of the daemon's user, and no daemon: beside a running one nobody waits for it. What is
    written meanwhile is not in it. "bobbinctl doctor DIR" examines a backup; Documentation/Backup.md tells what belongs to
    a backup besides, and how to restore one. A store in PostgreSQL is backed up with PostgreSQL's tools.
    """
  static let options = [
    Option("--replace", .none, help: "Put it into the place of an earlier backup, once it is complete")
  ]

  private let folder: String
  private let replaces: Bool

  init(_ arguments: inout ParsedArguments) {
    if arguments.operands.count != 1 { arguments.addProblem("backup takes the folder of the backup: \(Self.usage)") }
    folder = arguments.operands.first ?? ""
    replaces = arguments.has("--replace")
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    guard case .sqlite(let store) = try session.storeInUse() else {
      throw ToolError(
        .refused, "the store is in PostgreSQL, which has its own ways to back a database up",
        hint:
          "use pg_dump, or pg_basebackup and its log; \"bobbinctl store copy FILE\" makes an SQLite file of it while "
          + "the daemons are stopped")
    }
    let backup = StoreBackup(
      of: store, with: Paths.storeCompanions, manifest: Paths.backupManifest, to: folder, replacing: replaces,
      by: Release.version)
    let manifest: JSONValue
    do {
      manifest = try backup.run { done, total in
        guard session.output.showsProgress else { return }
        session.output.showProgress("copying \(done >> 20) of \(total >> 20) MiB")
      }
      session.output.clearProgress()
    } catch {
      session.output.clearProgress()
      throw Self.toolError(error)
    }
    if session.printsJSON {
      try session.output.write(manifest.serialized() + "\n")
    } else {
      let rows = manifest["rows"]?.object?.reduce(0) { $0 + ($1.value.integer ?? 0) } ?? 0
      let values = manifest["largeValues"]?.integer ?? 0
      try session.output.write(
        singleLine("backed up \(rows) rows and \(values) large \(values == 1 ? "value" : "values") to \(folder)") + "\n"
      )
    }
    return .success
  }

  private static func toolError(_ error: any Error) -> ToolError {
    switch error {
    case let refusal as StoreBackup.Refusal: return ToolError(.refused, refusal.description, hint: refusal.hint)
    case let error as SystemError where error.code == .accessDenied || error.code == .notPermitted:
      return ToolError(.notPermitted, "\(error)", hint: "run it as root, or as the daemon's user")
    case let error as SystemError where error.code == .noEntry:
      return ToolError(.outputFailed, "\(error)", hint: "make the folder that the backup is to lie in first")
    default: return StoreCommand.toolError(error)
    }
  }
}
