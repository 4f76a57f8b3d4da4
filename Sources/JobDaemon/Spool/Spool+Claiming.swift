import Foundation
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

  /// Claims a file: reads it once into memory and moves it from `new/` to `cur/`.
  ///
  /// It is read before it is moved, so that one that is still being written stays where its writer closes it. In `new/`
  /// its submitter may put another file under its name at any time; what lies in `cur/` in the end is what was read.
  /// - Throws: where the file can't be moved or read now; it lies in `new/` then.
  func claim(_ name: FileName, sizeLimit: Int, as sighting: Sighting = .event) throws(SystemError) -> Claim {
    if name.isHidden { return .nothing }
    let status: FileStatus
    let outcome: Reading
    do throws(SystemError) {
      status = try new.status(of: name)
      // Anything but a regular file is not even opened: that might have effects.
      outcome = status.kind == .regular ? try read(name, in: new, sizeLimit: sizeLimit) : .refused(.noFile)
    } catch {
      if error.code == .noEntry { return .nothing }
      throw error
    }
    switch outcome {
    case .unfinished: return .unfinished
    case .refused(let refusal): return try take(name, status, sizeLimit, as: .refused(refusal))
    case .read(let reading):
      if reading.file.data.isEmpty && sighting != .event { return sighting == .scan ? .unfinished : .nothing }
      if !reading.isWhole {
        if sighting == .created { return .nothing }
        noteUncertainty()
      }
      return try take(name, reading.status, sizeLimit, as: .claimed(reading.file))
    }
  }

  /// Moves what was read to `cur/`.
  private func take(
    _ name: FileName, _ status: FileStatus, _ sizeLimit: Int, as claim: Claim
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
    return try lookAnew(name, sizeLimit: sizeLimit)
  }

  /// Reads a file that replaced, under the same name, the one that was read before the move.
  private func lookAnew(_ name: FileName, sizeLimit: Int) throws(SystemError) -> Claim {
    let outcome: Reading
    do throws(SystemError) { outcome = try read(name, in: current, sizeLimit: sizeLimit) } catch {
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
