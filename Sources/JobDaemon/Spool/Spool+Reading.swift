import Foundation
import SystemSupport

extension Spool.Refusal {
  static let noFile = Spool.Refusal(reason: "it is no regular file")
}

extension Spool {
  /// What reading a job file came to.
  enum Reading: Sendable {
    case read(JobFileReading)
    case refused(Refusal)
    /// Somebody has it open for writing, or has written to it meanwhile.
    case unfinished
  }

  /// A file that was read.
  struct JobFileReading: Sendable {
    let file: ClaimedFile
    let status: FileStatus
    /// Whether it is known that nobody had it open for writing.
    let isWhole: Bool
  }

  /// Reads a file that lies in `cur/`, where it came when it was whole.
  ///
  /// - Throws: what another attempt may not meet again, such as too many open files.
  func reread(_ name: FileName, sizeLimit: Int) throws(SystemError) -> Result<ClaimedFile, Refusal> {
    switch try read(name, in: current, sizeLimit: sizeLimit, mayBeOpen: true) {
    case .read(let reading): return .success(reading.file)
    case .refused(let refusal): return .failure(refusal)
    case .unfinished: return .failure(Refusal(reason: "it was changed while it was read"))
    }
  }

  /// - Throws: what is no fault of the file's.
  func read(
    _ name: FileName, in directory: Directory, sizeLimit: Int, mayBeOpen: Bool = false
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
    let writers = mayBeOpen ? .unknown : try descriptor.excludeWriters()
    if writers == .some { return .unfinished }
    guard status.size <= sizeLimit else { return .refused(.tooLarge(sizeLimit, status.size)) }
    return try content(name, descriptor, status, sizeLimit, isWhole: writers == .none)
  }

  private func content(
    _ name: FileName, _ descriptor: borrowing FileDescriptor, _ status: FileStatus, _ sizeLimit: Int, isWhole: Bool
  ) throws(SystemError) -> Reading {
    let data: Data
    do throws(SystemError) {
      data = try descriptor.readAll(limit: sizeLimit)
    } catch {
      guard error.code == .fileTooLarge else { throw error }
      return .unfinished
    }
    let after = try descriptor.status()
    guard after.size == data.count, after.size == status.size, after.modificationTime == status.modificationTime else {
      return .unfinished
    }
    let file = ClaimedFile(
      name: name, data: data, submitter: try Submitter.user(of: descriptor, name, status), status: status,
      birthTime: try descriptor.birthTime())
    return .read(JobFileReading(file: file, status: status, isWhole: isWhole))
  }
}

extension Spool.Refusal {
  static func tooLarge(_ limit: Int, _ size: Int64) -> Spool.Refusal {
    Spool.Refusal(reason: "it is larger than \(limit) bytes (\(size)); see [Spool] MaxJobFileSize")
  }
}
