import Configuration
import Foundation
import Jobs
import SystemSupport

extension Spool {
  /// The result of claiming a file in `new/`.
  enum Claim: Sendable {
    case claimed(ClaimedFile)
    /// It was removed meanwhile, or it was never meant for the daemon.
    case nothing
    /// It is, or may be, still being written; it stays where it was.
    case unfinished
    /// A file of the same name is in `cur/`; try again when that is released.
    case namesakeAtWork
    /// It lies in `cur/` and is to be moved to `failed/`.
    case refused(Refusal)
  }

  /// The most bytes of a job file.
  struct JobFileLimits {
    let document: Int
    /// Of a file with one job on each line, of which no line may be larger than a document.
    let lines: Int

    init(document: Int, lines: Int) {
      self.document = document
      self.lines = lines
    }

    init(_ configuration: Configuration.Spool) {
      self.init(document: configuration.maxJobFileSize, lines: configuration.maxLineFileSize)
    }
  }

  /// The reason why a file is refused.
  struct Refusal: Error { let reason: String }

  /// The way in which a file was sighted.
  enum Sighting: Sendable {
    /// It was moved there, or closed after writing.
    case event
    /// It was made there, perhaps a moment ago.
    case created
    /// A scan of the folder has found it.
    case scan
  }

  /// Claims a file: reads it once into memory and moves it from `new/` to `cur/`. One with a job on each line is only moved.
  ///
  /// It is read before it is moved, so that one that is still being written stays where its writer closes it. In `new/`
  /// its submitter may put another file under its name at any time; what lies in `cur/` in the end is what was read.
  /// - Throws: where the file can't be moved or read now; it lies in `new/` then.
  func claim(_ name: FileName, limits: JobFileLimits, as sighting: Sighting = .event) throws(SystemError) -> Claim {
    if name.isHidden { return .nothing }
    let status: FileStatus
    let outcome: Reading
    do throws(SystemError) {
      status = try new.status(of: name)
      // Anything but a regular file is not even opened: that might have effects.
      outcome = status.kind == .regular ? try read(name, in: new, limits: limits) : .refused(.noFile)
    } catch {
      if error.code == .noEntry { return .nothing }
      throw error
    }
    switch outcome {
    case .unfinished: return .unfinished
    case .refused(let refusal): return try move(name, status, limits: limits, as: .refused(refusal))
    case .read(let reading):
      if reading.status.size == 0 && sighting != .event { return sighting == .scan ? .unfinished : .nothing }
      if !reading.isWhole {
        if sighting == .created { return .nothing }
        noteUncertainty()
      }
      return try move(name, reading.status, limits: limits, as: .claimed(reading.file))
    }
  }

  /// Moves what was read to `cur/`.
  private func move(
    _ name: FileName, _ status: FileStatus, limits: JobFileLimits, as claim: Claim
  ) throws(SystemError) -> Claim {
    do throws(SystemError) {
      try new.rename(name, to: name, in: current, replacing: false)
    } catch {
      if error.code == .noEntry { return .nothing }
      if error.code == .exists { return .namesakeAtWork }
      throw error
    }
    let moved = try current.status(of: name)
    let isUnchanged = moved.size == status.size && moved.modificationTime == status.modificationTime
    if moved.isSameFile(as: status), isUnchanged || moved.kind != .regular { return claim }
    return try lookAnew(name, limits: limits)
  }

  /// Reads a file that replaced, under the same name, the one that was read before the move.
  private func lookAnew(_ name: FileName, limits: JobFileLimits) throws(SystemError) -> Claim {
    let outcome: Reading
    do throws(SystemError) { outcome = try read(name, in: current, limits: limits) } catch {
      // If it can't go back, because there is a namesake by now, the next start finds it in cur/.
      try? current.rename(name, to: name, in: new, replacing: false)
      throw error
    }
    switch outcome {
    case .read(let reading):
      if !reading.isWhole { noteUncertainty() }
      return .claimed(reading.file)
    case .refused(let refusal): return .refused(refusal)
    case .unfinished: break
    }
    do throws(SystemError) {
      // Coming back into new/ raises an event, so that it is claimed again.
      try current.rename(name, to: name, in: new, replacing: false)
      return .nothing
    } catch {
      return .refused(Refusal(reason: "it was replaced by another file while it was being written"))
    }
  }
}

extension Spool.Refusal {
  static let noFile = Spool.Refusal(reason: "it is no regular file")

  static let unknownSubmitter = Spool.Refusal(
    reason: "it belongs to the daemon's own user, as whom programs of jobs write files too, and others may have put it "
      + "into new/; use bobbinctl submit")

  static func writable(_ mode: UInt32) -> Spool.Refusal {
    Spool.Refusal(
      reason: "others may write to it (mode \(String(mode & 0o777, radix: 8))), and its jobs have its owner's rights; "
        + "take the right from them (chmod go-w) before you drop it, or use bobbinctl submit")
  }
}

extension Spool {
  /// The result of reading a job file.
  enum Reading: Sendable {
    case read(JobFileReading)
    case refused(Refusal)
    /// Somebody has it open for writing, or has written to it meanwhile.
    case unfinished
  }

  /// The origin of a file.
  enum Origin: Sendable {
    /// From `new/`: anybody who may put files there may have put it there.
    case dropped
    /// It was claimed before.
    case claimed
  }

  /// A file that was read.
  struct JobFileReading: Sendable {
    let file: ClaimedFile
    let status: FileStatus
    /// True if nobody is known to have had it open for writing.
    let isWhole: Bool
  }

  /// Reads a file in `cur/`, which was whole when it came there.
  ///
  /// - Throws: errors that another attempt may not meet again, such as too many open files.
  func reread(_ name: FileName, limits: JobFileLimits) throws(SystemError) -> Result<ClaimedFile, Refusal> {
    switch try read(name, in: current, limits: limits, from: .claimed) {
    case .read(let reading): return .success(reading.file)
    case .refused(let refusal): return .failure(refusal)
    case .unfinished: return .failure(Refusal(reason: "it was changed while it was read"))
    }
  }

  /// - Throws: errors that are not the file's fault.
  func read(
    _ name: FileName, in directory: Directory, limits: JobFileLimits, from origin: Origin = .dropped
  ) throws(SystemError) -> Reading {
    let descriptor: FileDescriptor
    do throws(SystemError) {
      descriptor = try directory.openFile(name)
    } catch {
      // A symbolic link is refused by O_NOFOLLOW, a socket can't be opened.
      if error.code == .symbolicLink || error.code.symbol == "ENXIO" { return .refused(.noFile) }
      if !error.isLasting || error.code == .noEntry { throw error }
      let hint = error.code == .accessDenied ? "; give its group the right (chmod g+r) before you drop it" : ""
      return .refused(Refusal(reason: "it can't be read: \(error.code.symbol)\(hint)"))
    }
    let status = try descriptor.status()
    guard status.kind == .regular else { return .refused(.noFile) }
    guard status.linkCount == 1 else {
      return .refused(Refusal(reason: "it has \(status.linkCount) hard links; a job file must have one"))
    }
    if origin == .dropped, try mayBeOthers(descriptor, status) { return .refused(.writable(status.mode)) }
    let writers = origin == .claimed ? .unknown : try descriptor.excludeWriters()
    if writers == .some { return .unfinished }
    let sizeLimit = name.isOfLines ? limits.lines : limits.document
    guard status.size <= sizeLimit else {
      let kind = ForeignFile.kind(of: try descriptor.start(upTo: ForeignFile.prefixLength))
      return .refused(
        kind.map { Refusal(reason: ForeignFile.refusal($0)) }
          ?? .tooLarge(sizeLimit, status.size, hasLines: name.isOfLines))
    }
    guard let submitter = try submitter(of: descriptor, name, status, from: origin) else {
      return .refused(.unknownSubmitter)
    }
    return try content(
      name, descriptor, status: status, limits: limits, submitter: submitter, isWhole: writers == .none)
  }

  /// Returns true if somebody other than its owner, whose rights its jobs have, may have written a file.
  private func mayBeOthers(_ file: borrowing FileDescriptor, _ status: FileStatus) throws(SystemError) -> Bool {
    if !status.isWritableByOthers { return false }
    // Where the file's group has its user alone, which is what a umask of 002 is for, nobody else may.
    guard status.mode & 0o002 == 0, try file.accessControlList() == nil else { return true }
    return try !UserIdentity(lookingUp: status.owner).isAlone(inGroup: status.group)
  }

  private func submitter(
    of file: borrowing FileDescriptor, _ name: FileName, _ status: FileStatus, from origin: Origin
  ) throws(SystemError) -> UInt32? {
    if origin == .claimed { return try Submitter.user(ofClaimed: file, name, status) }
    return try Submitter.user(ofDropped: file, name, status) { () throws(SystemError) in try isNewShared() }
  }

  private func content(
    _ name: FileName, _ descriptor: borrowing FileDescriptor, status: FileStatus, limits: JobFileLimits,
    submitter: UInt32, isWhole: Bool
  ) throws(SystemError) -> Reading {
    if name.isOfLines {
      let file = ClaimedFile(
        name: name, data: Data(), submitter: submitter, status: status, birthTime: try descriptor.birthTime())
      return .read(JobFileReading(file: file, status: status, isWhole: isWhole))
    }
    let data: Data
    do throws(SystemError) {
      data = try descriptor.readAll(limit: limits.document)
    } catch {
      guard error.code == .fileTooLarge else { throw error }
      return .unfinished
    }
    let after = try descriptor.status()
    guard after.size == data.count, after.size == status.size, after.modificationTime == status.modificationTime else {
      return .unfinished
    }
    let file = ClaimedFile(
      name: name, data: data, submitter: submitter, status: status, birthTime: try descriptor.birthTime())
    return .read(JobFileReading(file: file, status: status, isWhole: isWhole))
  }
}

extension Spool.Refusal {
  static func tooLarge(_ limit: Int, _ size: Int64, hasLines: Bool) -> Spool.Refusal {
    let advice =
      hasLines
      ? "see [Spool] MaxLineFileSize"
      : "see [Spool] MaxJobFileSize, or put one job on each line of a file that is called *.ndjson"
    return Spool.Refusal(reason: "it is larger than \(limit) bytes (\(size)); \(advice)")
  }
}
