import Foundation
import JSONText
import Jobs
import ObjectGraph
import SystemSupport

/// The daemon's own copy of the file with one job on each line that is being admitted, in `cur/` beside it.
///
/// Its submitter may still write to the file itself. The copy holds the lines as they were checked, and says that none of
/// the file's jobs may start: a daemon that finds it goes on with the admission. It is removed when all of them are on disk.
///
/// The first line is an object: `version`, the name of the `file` in base64, its `identity`, which the jobs' own IDs are
/// made of, the `submitter`, and the moment `accepted`, in milliseconds since 1970, from which delays count.
struct LineFileCopy: ~Copyable {
  private static let version: Int64 = 1

  let file: ClaimedFile
  /// The moment from which delays count.
  let accepted: Date
  var lines: LineReader

  /// Reads the first line.
  fileprivate init(_ reader: consuming LineReader) throws {
    guard case .text(let line)? = try reader.next(), let header = try? JSONValue(parsing: line).object,
      let version = header["version"]?.integer
    else { throw Self.damaged }
    if version > Self.version {
      throw StoreError(
        .incompatibleModel,
        "the copy of a job file that is being admitted, cur/.admission.lines, has format \(version), of a newer release than "
          + "this one, which reads up to \(Self.version); start that release once more")
    }
    guard let identity = header["identity"]?.string,
      let name = header["file"]?.string.flatMap({ Data(base64Encoded: $0) }),
      let submitter = header["submitter"]?.integer.flatMap({ UInt32(exactly: $0) }),
      let accepted = header["accepted"]?.integer,
      let file = ClaimedFile(name: FileName(bytes: name), submitter: submitter, identity: identity)
    else { throw Self.damaged }
    self.file = file
    self.accepted = Date(timeIntervalSince1970: Double(accepted) / 1000)
    lines = reader
  }

  private static let damaged = StoreError(
    .corrupt,
    "the copy of a job file that is being admitted, cur/.admission.lines, is damaged; without it the jobs of the file that are "
      + "in the store run, and the others do not")

  /// The first line of a copy.
  fileprivate static func header(of file: ClaimedFile, accepted: Date) -> [UInt8] {
    JSONValue.object([
      "version": .integer(version), "file": .string(Data(file.name.bytes).base64EncodedString()),
      "identity": .string(file.identity ?? ""), "submitter": .integer(Int64(file.submitter)),
      "accepted": .integer(Int64(accepted.timeIntervalSince1970 * 1000)),
    ]).serializedBytes()
  }
}

/// A copy that is being written.
struct LineFileDraft: ~Copyable {
  private static let pieceSize = 256 << 10

  fileprivate let file: FileDescriptor
  private var bytes: [UInt8] = []

  fileprivate init(_ file: consuming FileDescriptor, header: [UInt8]) throws(SystemError) {
    self.file = file
    try append(header[...])
  }

  mutating func append(_ line: ArraySlice<UInt8>) throws(SystemError) {
    bytes += line
    bytes.append(UInt8(ascii: "\n"))
    if bytes.count >= Self.pieceSize { try write() }
  }

  fileprivate mutating func write() throws(SystemError) {
    let outcome = bytes.withUnsafeBytes { buffer in Result { () throws(SystemError) in try file.writeAll(buffer) } }
    try outcome.get()
    bytes.removeAll(keepingCapacity: true)
  }
}

/// The copy in `cur/`: one file is admitted at a time.
extension Spool {
  private static let copyName: FileName = ".admission.lines"
  private static let draftName: FileName = ".admission.lines.tmp"
  /// The most that a line may have under any configuration, in bytes.
  static let longestLine = 64 << 20

  /// Opens the copy of the file that is being admitted, from its beginning; nil if there is none.
  func openCopy() throws -> LineFileCopy? {
    let file: FileDescriptor
    do throws(SystemError) { file = try current.openFile(Self.copyName) } catch {
      if error.code == .noEntry { return nil }
      throw error
    }
    return try LineFileCopy(LineReader(file, limit: Self.longestLine))
  }

  /// Returns the name of the file that an earlier run was admitting; removes its copy if the file itself is gone.
  func fileBeingAdmitted() throws -> FileName? {
    guard let copy = try openCopy() else { return nil }
    if try current.contains(copy.file.name) { return copy.file.name }
    try removeCopy()
    return nil
  }

  /// Begins a copy, under a name that the next start removes.
  func draftCopy(of file: ClaimedFile, accepted: Date) throws(SystemError) -> LineFileDraft {
    try removeDraft()
    return try LineFileDraft(
      try current.createFile(Self.draftName), header: LineFileCopy.header(of: file, accepted: accepted))
  }

  /// Makes a copy durable: from then on its lines are what is admitted.
  func keep(_ draft: consuming LineFileDraft) throws(SystemError) {
    try draft.write()
    try draft.file.synchronize()
    try current.rename(Self.draftName, to: Self.copyName)
    try current.synchronize()
  }

  /// Removes the draft of a file that was refused, if there is one.
  func removeDraft() throws(SystemError) { try removeIfPresent(Self.draftName) }

  /// Removes the copy: the jobs of its file are all on disk, or the file is gone.
  func removeCopy() throws(SystemError) {
    try removeIfPresent(Self.copyName)
    try current.synchronize()
  }

  private func removeIfPresent(_ name: FileName) throws(SystemError) {
    do throws(SystemError) { try current.unlink(name) } catch { if error.code != .noEntry { throw error } }
  }
}

extension FileName {
  /// True if a job file of this name has one job on each line.
  var isOfLines: Bool {
    [".ndjson", ".jsonl"].contains { bytes.suffix($0.utf8.count).elementsEqual($0.utf8) }
  }
}
