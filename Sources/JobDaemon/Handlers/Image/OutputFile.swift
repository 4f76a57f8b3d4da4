import Foundation
import Jobs
import SystemSupport

/// A file that a job writes: made under a temporary name beside its place, and moved there whole.
final class OutputFile: Sendable {
  let path: String
  private let directory: Directory
  private let name: FileName
  private let temporary: FileName
  private let file: SharedFile

  /// Creates the temporary file, in place of one that an interrupted attempt of the same job left behind.
  init(path: String, jobID: String) throws(JobFailure) {
    self.path = path
    let url = URL(fileURLWithPath: path)
    name = FileName(url.lastPathComponent)
    // A hash, as the name may already have the longest length allowed; of the job, as two jobs may write one file.
    var hash = StableHash()
    hash.combine(jobID.utf8)
    hash.combine([0])
    hash.combine(name.bytes)
    temporary = FileName(".bobbin-\(hash.digits).tmp")
    do throws(SystemError) {
      directory = try Directory(path: url.deletingLastPathComponent().path)
      if try directory.contains(temporary) { try directory.unlink(temporary) }
      file = SharedFile(try directory.createFile(temporary, mode: 0o644))
    } catch {
      throw JobFailure("the output \(displayName(path)) can't be written: \(error)", isPermanent: error.isLasting)
    }
  }

  /// The number of the open descriptor, valid while this object lives.
  var descriptor: Int32 { file.descriptor.number }

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
