import Foundation
import SystemSupport

extension Directory {
  /// The folder at the end of a way of names, which is made as far as it is missing.
  func makingFolders(_ names: [FileName]) throws(SystemError) -> Directory {
    var directory = self
    for name in names {
      if try !directory.contains(name) { try directory.makeDirectory(name, mode: 0o755) }
      directory = try directory.openDirectory(name)
    }
    return directory
  }

  /// Moves a file to another folder, or deletes it, unless another one or other content has taken its place by then.
  ///
  /// - Parameter target: nil to delete it.
  func take(_ name: FileName, _ form: FileForm, to target: Directory?) throws(SystemError) {
    // It is looked at where nobody can put another one in its place any more.
    let hidden = FileName(".bobbin-\(UUID().uuidString)")
    let place = target ?? self
    let taken = try move(name, to: target == nil ? hidden : name, in: place)
    guard FileForm(try place.status(of: taken)) == form else {
      // Its event has it become a job.
      _ = try place.move(taken, to: name, in: self)
      return
    }
    if target == nil { try unlink(taken) }
  }

  /// Moves a file to another folder, under a name if that is free there, or one like it; returns the name.
  private func move(_ name: FileName, to wanted: FileName, in target: Directory) throws(SystemError) -> FileName {
    var free = wanted
    while true {
      do throws(SystemError) {
        try rename(name, to: free, in: target, replacing: false)
        return free
      } catch {
        guard error.code == .exists else { throw error }
      }
      let ending = "." + String(UInt32.random(in: .min ... .max), radix: 36)
      free = FileName(bytes: wanted.bytes.prefix(255 - ending.utf8.count)).appending(ending)
    }
  }
}
