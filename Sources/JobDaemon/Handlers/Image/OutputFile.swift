import Foundation
import Jobs
import SystemSupport

/// A file that a job writes: made under a temporary name beside its place, and moved there whole.
final class OutputFile: Sendable {
  let path: String
  private let directory: Directory
  private let name: FileName
  private let temporary: FileName
  /// Nil only while the initializer fails.
  private let file: SharedFile?

  /// Creates the temporary file, in place of one that an interrupted attempt of the same job left behind.
  ///
  /// - Throws: also where a finished picture could not be put, or would do harm, so that nothing is encoded in vain.
  init(path: String, jobID: String, input: FileStatus, sparing folders: OwnFolders) throws(JobFailure) {
    self.path = path
    let url = URL(fileURLWithPath: path)
    name = FileName(url.lastPathComponent)
    // A hash, as the name may already have the longest length allowed; of the job, as two jobs may write one file.
    var hash = StableHash()
    hash.combine(jobID.utf8)
    hash.combine([0])
    hash.combine(name.bytes)
    temporary = FileName(".bobbin-\(hash.digits).tmp")
    let problem: String?
    do throws(SystemError) {
      directory = try Directory(path: url.deletingLastPathComponent().path)
      problem = try Self.problem(with: name, in: directory, input, folders)
      if problem == nil, try directory.contains(temporary) { try directory.unlink(temporary) }
      file = problem == nil ? SharedFile(try directory.createFile(temporary, mode: 0o644)) : nil
    } catch {
      throw JobFailure("the output \(displayName(path)) can't be written: \(error)", isPermanent: error.isLasting)
    }
    if let problem { throw JobFailure("the output \(displayName(path)) can't be written: \(problem)") }
  }

  /// Why a file must not be put there; nil if it may.
  private static func problem(
    with name: FileName, in directory: Directory, _ input: FileStatus, _ folders: OwnFolders
  ) throws(SystemError) -> String? {
    if try folders.contains(directory) { return "the folder is the daemon's own" }
    guard try directory.contains(name) else { return nil }
    let target = try directory.status(of: name)
    if target.device == input.device && target.inode == input.inode {
      // A job that is run again after a crash would find its own output in place of its input.
      return "it is the input"
    }
    // The file replaces a link, not what that leads to.
    return target.kind == .regular || target.kind == .symbolicLink ? nil : "something other than a file is there"
  }

  /// The number of the open descriptor, valid while this object lives.
  var descriptor: Int32 { file?.descriptor.number ?? -1 }

  /// The path of the temporary file.
  var temporaryPath: String { directory.path + "/" + (temporary.string ?? "") }

  /// Moves the finished file to its place, durably; its content must have been synchronized.
  func publish() throws(JobFailure) {
    do throws(SystemError) {
      try directory.rename(temporary, to: name)
      try directory.synchronize()
    } catch {
      throw JobFailure("the output \(displayName(path)) can't be written: \(error)", isPermanent: error.isLasting)
    }
  }

  deinit {
    // Nobody is left to be told; after a publish there is nothing to remove.
    try? directory.unlink(temporary)
  }
}

/// Lets a descriptor be held by a class that is shared.
private final class SharedFile: Sendable {
  let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
}

extension SystemError {
  /// Whether another attempt would most likely fail in the same way.
  var isLasting: Bool {
    code != .diskFull && code != .quotaExceeded && code != .inputOutput && code != .tooManyOpenFiles
  }
}
