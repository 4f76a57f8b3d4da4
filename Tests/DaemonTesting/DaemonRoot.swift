package import Configuration
import Dispatch
package import Foundation
package import SystemSupport
package import TestSupport

/// A fresh directory for daemons, with everything under it as `bobbind --root` has it.
package final class DaemonRoot: Sendable {
  /// A configuration under which changes are on disk soon; sections of other names may follow.
  package static let quickFlushes = "[Writer]\nFlushIntervalSec=20ms\n"

  package let directory: TemporaryDirectory
  package let paths: Paths
  package let changes = Changes()
  /// Counts what comes to `cur/` and leaves it.
  package let currentWatch: FolderWatch
  private let otherWatch: FolderWatch
  private nonisolated(unsafe) let clock: (any DispatchSourceTimer)?
  /// For the test's own sockets, so that nothing of the test keeps the root's file system busy.
  let runtime: TemporaryDirectory

  /// Makes the folders, so that they can be watched before the daemon is there.
  ///
  /// - Parameters:
  ///   - configuration: the text of `bobbin.conf`.
  ///   - model: the text of the model of rows, if there is one.
  ///   - directory: where to put the root; a fresh one if nil.
  package convenience init(
    _ configuration: String = quickFlushes, model: String? = TestModel.text, in directory: TemporaryDirectory? = nil
  ) throws {
    let directory = try directory ?? TemporaryDirectory()
    try self.init(opening: directory)
    if FleetOfOne.isWanted && !configuration.contains("Url=") {
      let url = try FleetOfOne.makeDatabase(of: directory.path)
      try write("[Store]\nUrl=\(url)\n", to: paths.configurationDropIns + "/00-fleet.conf")
    }
    try configure(configuration)
    if let model { try write(model, to: paths.models + "/Test.xcdatamodel/contents") }
  }

  /// Makes the root of a host of a fleet.
  ///
  /// - Parameters:
  ///   - name: the host's name in the fleet.
  ///   - url: the address of the database that its hosts share.
  ///   - more: lines of `[Writer]`, and further sections.
  package convenience init(host name: String, at url: String, workers: Int = 2, _ more: String = "") throws {
    try self.init(
      "[Store]\nUrl=\(url)\n[Fleet]\nName=\(name)\n[Workers]\nCount=\(workers)\n\(Self.quickFlushes)\(more)")
  }

  /// A root that is there already, such as one whose file system was mounted again.
  package init(opening directory: TemporaryDirectory) throws {
    self.directory = directory
    runtime = try TemporaryDirectory()
    paths = Paths(root: directory.path)
    let folders = [
      paths.spoolTemporary, paths.spoolNew, paths.spoolCurrent, paths.spoolFailed, paths.uploads, paths.payload,
      paths.state,
      paths.models, paths.configurationDropIns, directory.path("run"),
    ]
    for folder in folders { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    // As the daemon makes it.
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: paths.state)
    let changes = changes
    clock = FleetOfOne.clock(for: changes)
    currentWatch = try FolderWatch([paths.spoolCurrent]) { changes.note() }
    otherWatch = try FolderWatch([paths.spoolNew, paths.spoolFailed, paths.uploads, paths.payload]) { changes.note() }
  }

  package func configure(_ text: String) throws { try write(text, to: paths.configurationFile) }

  /// Declares a type whose program is a shell script.
  package func declare(_ type: String, _ script: String, _ settings: String = "") throws {
    let path = directory.path("\(type).sh")
    try write(script, to: path)
    try write("[Handler]\nType=\(type)\nExecStart=/bin/sh \(path)\n\(settings)\n", to: "\(paths.handlers)/\(type).conf")
  }

  /// Writes a file, with the folders that it needs.
  package func write(_ data: Data, to path: String) throws {
    let url = URL(filePath: path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: url)
  }

  package func write(_ text: String, to path: String) throws { try write(Data(text.utf8), to: path) }

  /// Writes a file to `payload/`, where relative paths of jobs start; it survives a power cut.
  package func payload(_ name: String, _ text: String) throws { try payload(name, Data(text.utf8)) }

  package func payload(_ name: String, _ data: Data) throws {
    let url = URL(filePath: paths.payload + "/" + name)
    let folder = url.deletingLastPathComponent().path(percentEncoded: false)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Directory(path: folder).writeDurably(FileName(url.lastPathComponent), data, mode: 0o644)
  }

  /// Drops a job file, durable and whole under its name.
  package func drop(_ text: String, as name: FileName) throws { try drop(Data(text.utf8), as: name) }

  package func drop(_ data: Data, as name: FileName) throws {
    try Directory(path: paths.spoolNew).writeDurably(name, data, mode: 0o644)
  }

  /// The names in a folder that don't start with a dot, sorted.
  package static func entries(_ path: String) throws -> [FileName] {
    try Directory(path: path).entries().filter { !$0.isHidden }.sorted()
  }

  package var newFiles: [FileName] { get throws { try Self.entries(paths.spoolNew) } }
  package var currentFiles: [FileName] { get throws { try Self.entries(paths.spoolCurrent) } }
  package var failedFiles: [FileName] { get throws { try Self.entries(paths.spoolFailed) } }
  package var isSpoolEmpty: Bool { get throws { try newFiles.isEmpty && currentFiles.isEmpty } }

  /// What stands in the `.reason` of a file in `failed/`.
  package func reason(_ name: FileName) throws -> String {
    let file = try Directory(path: paths.spoolFailed).openFile(name.appending(".reason"))
    return String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self)
  }

  /// Asks the store by SQL, with SQLite's own program unless it is a database; one line per row, columns divided by bars.
  package func sql(_ text: String) async throws -> String {
    if let output = try FleetOfOne.sql(text, of: directory.path) { return output }
    let tool = try await Tool.run("/usr/bin/sqlite3", [paths.store, ".timeout 20000", text])
    if tool.code != 0 { throw SystemError(.invalidArgument, call: "sqlite3", subject: tool.errors + tool.output) }
    return String(tool.output.dropLast(tool.output.hasSuffix("\n") ? 1 : 0))
  }
}
