import ControlClient
import Foundation
internal import Glibc
import JSONText
import SystemSupport

/// A file that is submitted.
struct JobFileInput {
  /// No daemon takes a document of this size, whatever its configuration; its own limit is lower.
  private static let maximumBytes = 16 << 20

  let body: ControlClient.Body
  /// True if it has one job on each line, and may have any size.
  let hasLines: Bool

  init(_ source: JobFileSource, _ changes: JobFileChanges) throws(ToolError) {
    switch source {
    case .file(let file): try self.init(file, changes)
    case .made(let value): self.init(document: changes.applied(to: Data(value.serializedBytes())))
    }
  }

  private init(document: Data) { (body, hasLines) = (.json(document), false) }

  /// Opens a file, which may be a pipe; `-` is standard input.
  private init(_ file: String, _ changes: JobFileChanges) throws(ToolError) {
    do throws(SystemError) {
      let source = try OpenFile(file)
      let isOfLines = [".ndjson", ".jsonl"].contains { file.hasSuffix($0) }
      let start = isOfLines ? Data() : try source.read(upTo: Self.maximumBytes + 1)
      hasLines = isOfLines || (file == "-" && Self.looksLikeLines(start))
      if hasLines {
        let isPlain = start.isEmpty && changes.isEmpty
        let lines = try isPlain && source.isRegular ? source : Self.copy(start, source, applying: changes)
        body = .lines(size: try lines.size) { lines.read(into: $0) }
      } else if start.count > Self.maximumBytes {
        throw SystemError(.fileTooLarge, call: "read", subject: file)
      } else {
        body = .json(changes.applied(to: start))
      }
    } catch  where error.code == .fileTooLarge {
      throw ToolError(
        .refused,
        "it has more than \(Self.maximumBytes) bytes, which is more than any job file may have; one with a job on each line, "
          + "called *.ndjson, may have any size")
    } catch {
      throw ToolError(.unreadableFile, "it can't be read: \(error.code)")
    }
  }

  /// True if the first line of a text is an object, and not all of it.
  private static func looksLikeLines(_ text: Data) -> Bool {
    let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    guard lines.count == 2, lines[1].contains(where: { $0 > 0x20 }) else { return false }
    return (try? JSONValue(parsing: lines[0], dialect: .json5))?.object != nil
  }

  /// Copies lines to a file that is gone when it is closed: their length must be known, and their jobs may be changed.
  private static func copy(
    _ start: Data, _ rest: OpenFile, applying changes: JobFileChanges
  ) throws(SystemError) -> OpenFile {
    let copy = try OpenFile.temporary()
    var bytes = start
    var isAtEnd = false
    while !isAtEnd {
      let piece = try rest.read(upTo: 1 << 20)
      isAtEnd = piece.isEmpty
      bytes += piece
      if changes.isEmpty {
        try copy.descriptor.writeAll(bytes)
        bytes = Data()
        continue
      }
      let end = isAtEnd ? bytes.endIndex : bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.startIndex
      for line in bytes[..<end].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast(
        isAtEnd ? 0 : 1)
      {
        try copy.descriptor.writeAll(changes.applied(to: Data(line)) + Data("\n".utf8))
      }
      bytes = Data(bytes[end...])
    }
    return copy
  }

  /// The whole file, which may be a pipe; `-` is standard input.
  static func read(_ file: String) throws(ToolError) -> Data {
    do throws(SystemError) {
      return try OpenFile(file).descriptor.readAll(limit: maximumBytes)
    } catch  where error.code == .fileTooLarge {
      throw ToolError(.refused, "it has more than \(maximumBytes) bytes, which is more than any job file may have")
    } catch {
      throw ToolError(.unreadableFile, "it can't be read: \(error.code)")
    }
  }

  /// A descriptor of our own: the original stays open for whoever shares it.
  static func standardInput() throws(SystemError) -> FileDescriptor {
    FileDescriptor(owning: try systemCall("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
  }
}

/// The changes that a command line makes to the jobs of all files.
struct JobFileChanges {
  /// The place of jobs that name none.
  var place: String?
  /// True if jobs with IDs replace the known ones.
  var replaces = false

  var isEmpty: Bool { place == nil && !replaces }

  /// Changes a file; what is no job file is left to the daemon, which says why.
  func applied(to contents: Data) -> Data {
    if isEmpty { return contents }
    guard var file = (try? JSONValue(parsing: contents, dialect: .json5))?.object else { return contents }
    if let jobs = file["jobs"]?.array {
      file["jobs"] = .array(jobs.map { applied(to: $0) })
      if let callback = file["callback"] { file["callback"] = applied(to: callback) }
    } else {
      file = applied(to: .object(file)).object ?? file
    }
    return Data(JSONValue.object(file).serializedBytes())
  }

  private func applied(to job: JSONValue) -> JSONValue {
    guard var object = job.object else { return job }
    if let place, object["place"] == nil { object["place"] = .string(place) }
    // Without an ID of its own it is a new job anyway.
    if replaces, let id = object["id"]?.string, !id.hasPrefix("#"), object["replace"] == nil {
      object["replace"] = .bool(true)
    }
    return .object(object)
  }
}

/// A file that is read piece by piece.
final class OpenFile {
  let descriptor: FileDescriptor

  init(_ file: String) throws(SystemError) {
    descriptor = file == "-" ? try JobFileInput.standardInput() : try .open(file)
  }

  private init(owning descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  static func temporary() throws(SystemError) -> OpenFile {
    let path = NSTemporaryDirectory() + "/bobbinctl-" + UUID().uuidString
    let file = OpenFile(owning: try .open(path, .creatingExclusively))
    try systemCall("unlink", path) { unlink(path) }
    return file
  }

  var isRegular: Bool { (try? descriptor.status().kind) == .regular }

  var size: Int64 { get throws(SystemError) { try descriptor.status().size } }

  private var position: Int64 = 0

  /// Reads on from the beginning, whatever was written meanwhile; an error ends the text, which is then too short.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = (try? descriptor.read(into: buffer, at: position)) ?? 0
    position += Int64(count)
    return count
  }

  /// Reads up to so many bytes; fewer only at the end.
  func read(upTo limit: Int) throws(SystemError) -> Data {
    var bytes = Data()
    while bytes.count < limit {
      let filled = bytes.count
      bytes.count = min(limit, filled + (256 << 10))
      let outcome = bytes.withUnsafeMutableBytes { buffer in
        Result { () throws(SystemError) in
          try descriptor.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
        }
      }
      let count = try outcome.get()
      bytes.count = filled + count
      if count == 0 { break }
    }
    return bytes
  }
}
