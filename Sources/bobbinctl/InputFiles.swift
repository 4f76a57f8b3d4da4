import ControlClient
import Foundation
internal import Glibc
import StatusReplies
import SystemSupport

/// The files that jobs are made for, as they are named on the command line.
enum InputFiles {
  /// Makes paths absolute, and expands the patterns that the shell has left, such as those in quotes.
  ///
  /// - Throws: if one names nothing, or no file.
  static func expand(_ operands: [String]) throws(ToolError) -> [String] {
    var paths: [String] = []
    for operand in operands {
      let path = absolute(operand)
      if let isFolder = isFolder(path) {
        if isFolder { throw ToolError(.unreadableFile, "\(operand): it is a folder; name the files, as \(operand)/*") }
        paths.append(path)
        continue
      }
      let matches =
        operand.contains(where: "*?[".contains) ? matches(of: path).filter { isFolder($0) == false } : []
      if matches.isEmpty {
        throw ToolError(
          .unreadableFile,
          operand.contains("*") ? "\(operand): no file has such a name" : "\(operand): there is no such file")
      }
      paths += matches
    }
    return paths
  }

  static func absolute(_ path: String) -> String {
    path.absolutePath(from: FileManager.default.currentDirectoryPath)
  }

  /// True for a folder, false for another file, nil for nothing that this user could see.
  static func isFolder(_ path: String) -> Bool? {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) ? isFolder.boolValue : nil
  }

  private static func matches(of pattern: String) -> [String] {
    var found = glob_t()
    defer { globfree(&found) }
    guard glob(pattern, 0, nil, &found) == 0 else { return [] }
    return (0..<Int(found.gl_pathc)).compactMap { found.gl_pathv[$0].map { String(cString: $0) } }
  }
}

/// Questions to the daemon about files before jobs name them.
enum JobAccess {
  /// The most files that are asked about; whatever is wrong with others, their jobs tell.
  private static let most = 100

  /// Asks whether jobs can read files.
  ///
  /// - Throws: if they can't read one of them.
  static func checkInputs(_ paths: [String], _ session: Session) throws(ToolError) {
    for path in paths.prefix(most) {
      guard let obstacle = try obstacle(before: path, session) else { continue }
      throw ToolError(
        .unreadableFile, "jobs can't read \(path): \(obstacle)",
        hint: "\"bobbinctl submit --input\" sends a private file along with its job")
    }
  }

  /// Asks whether jobs can read a file, and returns why not.
  static func obstacle(before path: String, _ session: Session) throws(ToolError) -> String? {
    guard let access = try access(to: path, session)?.reading, !access.allowed else { return nil }
    return access.reason ?? "no reason is given"
  }

  /// Asks whether jobs can put files into folders.
  ///
  /// - Throws: if there is no such folder, or they can't write to it.
  static func checkOutputs(in folders: Set<String>, _ session: Session) throws(ToolError) {
    for folder in folders.sorted().prefix(most) {
      if InputFiles.isFolder(folder) == false { throw ToolError(.unreadableFile, "\(folder) is no folder") }
      if InputFiles.isFolder(folder) == nil {
        throw ToolError(
          .unreadableFile, "there is no folder \(folder)", hint: "jobs make none; make it first, with mkdir")
      }
      guard let access = try access(to: folder, session)?.writing, !access.allowed else { continue }
      throw ToolError(.notPermitted, "jobs can't write to \(folder): \(access.reason ?? "no reason is given")")
    }
  }

  /// The daemon's answer; nil from one that does not give it, and leaves it to the job.
  private static func access(to path: String, _ session: Session) throws(ToolError) -> ExplainReply? {
    let reply = try Reply.received(
      from: session.client, "GET", ControlClient.path("v1", "explain"), query: [URLQueryItem(name: "path", value: path)]
    )
    return reply.status == 200 ? try reply.decoded(as: ExplainReply.self) : nil
  }
}

/// Standard input as a file that jobs can read, in the spool's folder for such files.
struct KeptInput {
  private let path: String
  private let folder: Directory
  private let name: FileName

  /// Has a job made for standard input, and removes the file when no job needs it any more.
  ///
  /// - Parameter submit: Submits the job for the file of this path, and waits for it.
  static func use(
    _ session: Session, submit: (String) throws(ToolError) -> ExitCode
  ) throws(ToolError) -> ExitCode {
    let kept = try KeptInput(session)
    do throws(ToolError) {
      let code = try submit(kept.path)
      kept.finish(code, session)
      return code
    } catch {
      kept.finish(error.code, session)
      throw error
    }
  }

  /// Reads standard input to its end.
  private init(_ session: Session) throws(ToolError) {
    let status = try Reply.received(from: session.client, "GET", ControlClient.path("v1", "status"))
    guard let spool = try status.accepted(refusal: .unavailable).decoded(as: StatusReply.self).spool else {
      throw ToolError(.unavailable, "the daemon does not say where its spool is")
    }
    let payload = spool + "/payload"
    let name = "stdin-\(geteuid())-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))"
    do throws(SystemError) {
      folder = try Directory(path: payload)
      self.name = FileName(bytes: name.utf8)
      let file = try folder.createFile(self.name, mode: 0o640)
      do throws(SystemError) {
        // The folder's group is the daemon's, whatever the umask is.
        try file.setMode(0o640)
        try Self.copyInput(to: file)
        try file.synchronize()
        try folder.synchronize()
      } catch {
        try folder.unlink(self.name)
        throw error
      }
    } catch {
      throw ToolError(
        .unreadableFile, "standard input can't be kept in \(payload), where jobs would read it: \(error)",
        hint: "write it to a file that the daemon can read, and name that")
    }
    path = payload + "/" + name
  }

  private static func copyInput(to file: borrowing FileDescriptor) throws(SystemError) {
    let input = try JobFileInput.standardInput()
    var block = Data(count: 1 << 20)
    while true {
      let outcome = block.withUnsafeMutableBytes { buffer in
        Result { () throws(SystemError) -> Int in try input.read(into: buffer) }
      }
      let count = try outcome.get()
      if count == 0 { return }
      try file.writeAll(block.prefix(count))
    }
  }

  /// Removes the file, unless a job may still need it.
  private func finish(_ code: ExitCode, _ session: Session) {
    switch code {
    // The job may be retried, released or not finished, or it is not known whether there is one.
    case .jobFailed, .jobHeld, .tryAgain, .unavailable: session.output.note("standard input is kept in \(path)")
    default:
      do throws(SystemError) { try folder.unlink(name) } catch {
        session.output.note("\(path) can't be removed: \(error)")
      }
    }
  }
}
