import Configuration
import Foundation
import JSONText
import StoreCopy
import StoreInterface
import SystemSupport
import TextSupport

/// `bobbinctl store copy` and `bobbinctl store verify`: moves a store between SQLite and PostgreSQL.
struct StoreCommand: Subcommand {
  static let name = "store"
  static let usage = "store copy [--dry-run] [--json] [FROM] TO, store verify [--json] FROM TO"
  static let summary = "Copy a store between SQLite and PostgreSQL, or compare two"
  static let details = """
    FROM and TO are paths of SQLite databases, or addresses such as postgresql://bobbin@db.example.org/bobbin, without a
    password: that belongs into ~/.pgpass of the user who runs bobbinctl. FROM is the configured store if it is left out.

    copy makes a new store at TO with everything that is in FROM: objects with their keys and versions, links, large
    values, the history. Stop the daemon first, on all hosts, and run it as the daemon's user. A copy that was cut short
    goes on where it was when the same command is given again. TO can be opened only when it is complete and both stores
    were found equal. --dry-run tells what would be copied and what is in the way, also beside a running daemon, and
    changes nothing.

    verify compares the rows of all tables, their number and their SHA-256, and names the first that differ, also beside
    running daemons; what those write meanwhile differs then. The exit code is 0 if the stores are equal, and 4 if they
    differ. Documentation/Fleet.md tells how to move a daemon's store.
    """
  static let options = [
    Option("--dry-run", .none, help: "Tell what would be copied, and what is in the way")
  ]

  private enum Action: String { case copy, verify }

  private let action: Action
  private let addresses: [StoreAddress]
  private let isTrial: Bool

  init(_ arguments: inout ParsedArguments) {
    let action = arguments.operands.first.flatMap(Action.init)
    let addresses = arguments.operands.dropFirst().map { StoreAddress($0) }
    let counts = action == .verify ? 2...2 : 1...2
    if action == nil || !counts.contains(addresses.count) {
      arguments.addProblem("an action and the places of stores are missing: \(Self.usage)")
    }
    isTrial = arguments.has("--dry-run")
    if isTrial, action == .verify { arguments.addProblem("verify changes nothing anyway; leave --dry-run out") }
    if addresses.count == 2, addresses.first == addresses.last {
      arguments.addProblem("FROM and TO are the same store")
    }
    self.action = action ?? .verify
    self.addresses = addresses
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let to = addresses[addresses.count - 1]
    let from = addresses.count == 2 ? addresses[0] : try session.configuredStore()
    if from == to { throw ToolError(.usage, "the configured store is TO already", hint: "name FROM as well") }
    do {
      if action == .verify {
        let tables = try StoreComparison.run(from, to) { show($0, session) }
        session.output.clearProgress()
        let code = try report(tables, from: from, to: to, session: session)
        if code == .different { try tellUsers(of: [from, to], session) }
        return code
      }
      if isTrial { return try report(CopyTrial.run(from: from, to: to), session) }
      let locks = try Set([from, to].compactMap(Self.lockPath)).sorted().map { try Self.lock($0) }
      defer { withExtendedLifetime(locks) {} }
      let tables = try StoreCopy(from: from, to: to) { show($0, session) }.run()
      session.output.clearProgress()
      return try report(tables, from: from, to: to, session: session)
    } catch let error as ToolError {
      session.output.clearProgress()
      throw error
    } catch {
      session.output.clearProgress()
      throw Self.toolError(error)
    }
  }

  /// The lock of a daemon that keeps its store there; nil if no daemon ever did.
  private static func lockPath(_ address: StoreAddress) -> String? {
    guard case .sqlite(let path) = address else { return nil }
    let lock = URL(filePath: path).deletingLastPathComponent().appending(path: "lock").path(percentEncoded: false)
    return FileManager.default.fileExists(atPath: lock) ? lock : nil
  }

  /// Keeps daemons from the folder of a store while it is copied.
  private static func lock(_ path: String) throws(ToolError) -> FileLock {
    do throws(SystemError) { return try FileLock(path: path) } catch {
      if error.code == .wouldBlock {
        throw ToolError(.tryAgain, "\(error)", hint: "a daemon uses the store; stop it first")
      }
      throw ToolError(.notPermitted, "\(error)", hint: "run it as the daemon's user")
    }
  }

  static func toolError(_ error: any Error) -> ToolError {
    guard let error = error as? StoreError else { return ToolError(.outputFailed, "\(error)") }
    let code: ExitCode =
      switch error.code {
      case .unavailable: .unavailable
      case .busy: .tryAgain
      case .readOnly: .notPermitted
      case .cannotOpen, .notAStore: .unreadableFile
      case .full, .inputOutput: .outputFailed
      default: .refused
      }
    return ToolError(code, "\(error)")
  }

  // MARK: Output

  private func show(_ report: CopyReport, _ session: Session) {
    guard session.output.showsProgress else { return }
    switch report.step {
    case .finishing: session.output.showProgress("making the indexes")
    case .copying: session.output.showProgress("copying \(report.table): \(report.rows) of \(report.total) rows")
    case .comparing: session.output.showProgress("comparing \(report.table): \(report.rows) of \(report.total) rows")
    }
  }

  private func report(
    _ tables: [StoreComparison.Table], from: StoreAddress, to: StoreAddress, session: Session
  ) throws(ToolError) -> ExitCode {
    let different = tables.filter { !$0.isEqual }
    if session.printsJSON {
      try session.output.write(Self.json(tables).serialized() + "\n")
      return different.isEmpty ? .success : .different
    }
    var shown = Table(columns: [
      .init(title: "TABLE", isFlexible: true), .init(title: "ROWS"), .init(title: "SHA-256", isFlexible: true),
      .init(title: "NOTE"),
    ])
    shown.rows = tables.map { table in
      let rows = table.rows.map { $0.map(String.init) ?? "none" }
      return [
        .init(table.name), .init(rows[0] == rows[1] ? rows[0] : rows.joined(separator: " / ")),
        .init(table.isEqual ? table.hashes[0] : ""),
        .init(sentence: table.isEqual ? "equal" : "\(table.differenceCount) differ"),
      ]
    }
    try session.output.write(shown)
    for table in different {
      for difference in table.differences {
        try session.output.write(singleLine("\(table.name) \(Self.sentence(difference))") + "\n")
      }
    }
    let count = tables.reduce(0) { $0 + ($1.rows[0] ?? 0) }
    try session.output.write(
      different.isEmpty
        ? (action == .copy ? "copied \(count) rows; " : "\(count) rows; ") + "both stores are equal\n"
        : "the stores differ in \(different.count) of \(tables.count) tables\n")
    return different.isEmpty ? .success : .different
  }

  /// Tells which daemons may have written while two stores were compared.
  private func tellUsers(of stores: [StoreAddress], _ session: Session) throws {
    for store in stores {
      let spools = try store.users()
      if spools.isEmpty { continue }
      session.output.note(
        "\(spools.joined(separator: ", ")) used \(store) meanwhile; what was written while it was compared differs too")
    }
  }

  private static func sentence(_ difference: StoreComparison.Difference) -> String {
    let row = difference.key.isEmpty ? "" : "\(difference.key) "
    return switch difference.kind {
    case .onlyInFirst: row + "is only in the first store"
    case .onlyInSecond: row + "is only in the second store"
    case .different(let columns): row + "differs in \(columns.joined(separator: ", "))"
    }
  }

  private static func json(_ tables: [StoreComparison.Table]) -> JSONValue {
    .object([
      "equal": .bool(tables.allSatisfy(\.isEqual)),
      "tables": .array(
        tables.map { table in
          .object([
            "name": .string(table.name), "rows": .array(table.rows.map { $0.map(JSONValue.integer) ?? .null }),
            "hashes": .array(table.hashes.map(JSONValue.string)), "equal": .bool(table.isEqual),
            "differences": .array(
              table.differences.map { .string("\(table.name) \(sentence($0))") }),
          ])
        }),
    ])
  }

  private func report(_ trial: CopyTrial, _ session: Session) throws(ToolError) -> ExitCode {
    let code: ExitCode = trial.obstacles.isEmpty ? .success : .refused
    if session.printsJSON {
      let value = JSONValue.object([
        "tables": .array(
          trial.tables.map { table in
            .object([
              "name": .string(table.name), "rows": .integer(table.size.rows), "bytes": .integer(table.size.bytes),
            ])
          }),
        "obstacles": .array(trial.obstacles.map(JSONValue.string)),
        "foreignTables": .array(trial.foreignTables.map(JSONValue.string)),
      ])
      try session.output.write(value.serialized() + "\n")
      return code
    }
    var shown = Table(columns: [
      .init(title: "TABLE", isFlexible: true), .init(title: "ROWS"), .init(title: "BYTES OF TEXTS AND BINARY VALUES"),
    ])
    shown.rows = trial.tables.map { table in
      [.init(table.name), .init("\(table.size.rows)"), .init("\(table.size.bytes)")]
    }
    try session.output.write(shown)
    for name in trial.foreignTables {
      try session.output.write(singleLine("note: the table \(name) is of no entity, and stays behind") + "\n")
    }
    for obstacle in trial.obstacles { try session.output.write(singleLine("obstacle: \(obstacle)") + "\n") }
    let rows = trial.tables.reduce(0) { $0 + $1.size.rows }
    try session.output.write(
      trial.obstacles.isEmpty
        ? "\(rows) rows can be copied; nothing was changed\n" : "the store can't be copied yet; nothing was changed\n")
    return code
  }
}
