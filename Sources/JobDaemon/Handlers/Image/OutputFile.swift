import Foundation
import Glibc
import Jobs
import SystemSupport

/// A file that a job writes: made under a temporary name beside its place, and moved there whole.
///
/// It is made, and put in place of another, only where the job's submitter could do so; see note 14.
final class OutputFile: Sendable {
  let path: String
  private let submitter: UserIdentity
  private let input: FileStatus
  private let place: OutputPlace
  private let temporary: FileName
  private let file: SharedFile

  /// Creates the temporary file, in place of one that an interrupted attempt of the same job left behind.
  ///
  /// - Throws: also where a finished picture could not be put, or would do harm, so that nothing is encoded in vain.
  init(
    path: String, jobID: String, input: FileStatus, submitter: UserIdentity, sparing folders: OwnFolders
  ) throws(JobFailure) {
    self.path = path
    self.submitter = submitter
    self.input = input
    do throws(PathProblem) {
      place = try OutputPlace(path, for: submitter)
      try place.check(sparing: folders)
      _ = try place.checkTarget(of: input)
      temporary = place.temporaryName(jobID: jobID)
      do throws(SystemError) {
        try place.removeLeftover(temporary)
        file = SharedFile(try place.folder.createFile(temporary, mode: 0o644))
        if submitter.needsChecks { try OutputMark.set(submitter.user, on: file.descriptor) }
      } catch {
        throw PathProblem(error)
      }
    } catch {
      throw Self.failure(path, error)
    }
  }

  private static func failure(_ path: String, _ problem: PathProblem) -> JobFailure {
    var failure = JobFailure(
      "the output \(displayName(path)) can't be written: \(problem)", isPermanent: problem.isLasting)
    failure.isFullDisk = problem.isFullDisk
    return failure
  }

  /// The number of the open descriptor, valid while this object lives.
  var descriptor: Int32 { file.descriptor.number }

  /// What was written, from the descriptor: the temporary name may lead elsewhere by now, if its folder is somebody's.
  func content(limit: Int) throws(SystemError) -> Data {
    try file.descriptor.reopenedForReading().readAll(limit: limit)
  }

  /// Copies what was written to a new file.
  func copy(to path: String) throws(SystemError) {
    let copy = try FileDescriptor.open(path, .creatingExclusively, mode: 0o600)
    try file.descriptor.copyFromStart(to: copy)
  }

  /// Whether the disk that it is to be on has no room.
  var isDiskFull: Bool {
    var status = statvfs()
    return fstatvfs(descriptor, &status) == 0 && UInt64(status.f_bavail) * UInt64(status.f_bsize) < 64 << 10
  }

  /// Moves the finished file to its place, durably; its content must have been synchronized.
  func publish() throws(JobFailure) {
    do throws(PathProblem) {
      do throws(SystemError) { try giveAway() } catch { throw PathProblem(error) }
      try place.publish(temporary, file.descriptor, input)
    } catch {
      throw Self.failure(path, error)
    }
  }

  /// A daemon that runs as root leaves its submitters' files to them.
  private func giveAway() throws(SystemError) {
    guard Credentials.effectiveUser == 0, submitter.user != 0 else { return }
    // In a setgid folder the file has the folder's group already.
    let group = try place.folder.status().mode & 0o2000 == 0 ? submitter.primaryGroup : nil
    try file.descriptor.setOwner(submitter.user, group: group)
  }

  deinit {
    // Nobody is left to be told; after a publish there is nothing to remove.
    try? place.folder.unlink(temporary)
  }
}

/// Lets a descriptor be held by a class that is shared.
private final class SharedFile: Sendable {
  let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
}
