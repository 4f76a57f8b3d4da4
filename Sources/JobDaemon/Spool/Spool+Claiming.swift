import Foundation
import SystemSupport

extension Spool {
  /// What became of a file in `new/`.
  enum Claim: Sendable {
    case claimed(ClaimedFile)
    /// Somebody took it away, or it never was meant for us.
    case nothing
    /// It is, or may be, still being written; it lies where it was.
    case unfinished
    /// A file of the same name is at work; try again when that is released.
    case namesakeAtWork
    /// It lies in `cur/` and is to be moved to `failed/`.
    case refused(Refusal)
  }

  /// Why a file is not taken.
  struct Refusal: Error { let reason: String }

  /// How we know of a file.
  enum Sighting: Sendable {
    /// It was moved there, or closed after writing.
    case event
    /// It was made there, perhaps a moment ago.
    case created
    /// A look through the folder has found it.
    case scan
  }

  /// Takes a file from `new/`: reads it once into memory and moves it to `cur/`.
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
      // What is no file is not even opened: that might have effects.
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

  /// Moves what was looked at to `cur/`.
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

  /// Another file was put under the name while the first one was read, and that is what was moved.
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
      // Coming back into new/ is an event, which has it looked at again.
      try current.rename(name, to: name, in: new, replacing: false)
      return .nothing
    } catch {
      return .refused(Refusal(reason: "it was replaced by another file while it was being written"))
    }
  }
}
