import Jobs
import SystemSupport

/// A file that a job writes: made without a name, or under a temporary one, and put in its place whole.
///
/// It is made, and put in place of another, only where the job's submitter could do so; see Documentation/Design/0014.
final class OutputFile: Sendable {
  private let path: String
  private let mode: UInt32
  private let submitter: UserIdentity
  private let input: FileStatus
  private let isRepeated: Bool
  private let place: OutputPlace
  private let file: SharedFile

  /// Creates the temporary file.
  ///
  /// - Parameters:
  ///   - isNamed: false if the file's name is told at the end only, and the path's last part stands for it until then.
  ///   - mode: the permission bits, whatever the umask.
  ///   - avoidsUnnamedFiles: true to work as on a file system without unnamed files.
  ///   - isRepeated: whether an earlier attempt may have left something behind, which is removed.
  /// - Throws: also where a finished picture could not be put, or would do harm, so that nothing is encoded in vain.
  init(
    path: String, isNamed: Bool = true, mode: UInt32 = 0o644, avoidsUnnamedFiles: Bool = false,
    isRepeated: Bool = false, input: FileStatus, submitter: UserIdentity, sparing folders: OwnFolders
  ) throws {
    self.path = path
    self.mode = mode
    self.submitter = submitter
    self.input = input
    self.isRepeated = isRepeated
    do throws(PathProblem) {
      place = try OutputPlace(path, for: submitter)
      try place.check(sparing: folders)
      if isNamed { _ = try place.checkTarget(of: input) }
      do throws(SystemError) {
        if isRepeated { try place.removeLeftovers() }
        // Nobody sees a picture in the making that is not to see the finished one.
        file = SharedFile(try place.makeTemporary(mode: 0o600, named: avoidsUnnamedFiles))
        if submitter.needsChecks { try OutputMark.set(submitter.user, on: file.descriptor) }
      } catch {
        throw PathProblem(error, writing: path, in: place.folder.path)
      }
    } catch {
      throw Self.failure(path, error)
    }
  }

  private static func failure(_ path: String, _ problem: PathProblem) -> JobFailure {
    var failure = JobFailure(
      "the output \(displayName(path)) can't be written: \(problem)", isPermanent: problem.isLasting)
    failure.isShortage = problem.isOfHost
    return failure
  }

  /// The number of the open descriptor, valid while this object lives.
  var descriptor: Int32 { file.descriptor.number }

  /// Returns the place of the file, after checking that it can be written.
  ///
  /// - Parameter name: the last part of the path, if that was not known before.
  func place(named name: String?) throws -> OutputPlace {
    do throws(PathProblem) {
      let place = try place.named(name)
      _ = try place.checkTarget(of: input)
      return place
    } catch {
      throw Self.failure(path, error)
    }
  }

  /// Moves the finished file to its place, durably; its content must have been synchronized.
  ///
  /// - Parameters:
  ///   - name: the last part of the path, if that was not known before.
  ///   - check: called right before; what it throws leaves the place as it is.
  func publish(as name: String? = nil, after check: () throws -> Void = {}) throws {
    try check()
    do throws(PathProblem) {
      do throws(SystemError) {
        try file.descriptor.setMode(mode)
        try giveAway()
      } catch {
        throw PathProblem(error)
      }
      try place.named(name).publish(file.name, file.descriptor, of: input)
      // The helper of a daemon that was killed may have held its files a moment longer than that.
      do throws(SystemError) { if isRepeated { try place.removeLeftovers() } } catch { throw PathProblem(error) }
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
    if let name = file.name { try? place.folder.unlink(name) }
  }
}

/// Lets a descriptor be held by a class that is shared.
private final class SharedFile: Sendable {
  private let output: TemporaryOutput

  init(_ output: consuming TemporaryOutput) { self.output = output }

  var name: FileName? { output.name }
  var descriptor: FileDescriptor { _read { yield output.file } }
}
