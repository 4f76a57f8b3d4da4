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

  /// Moves a file to another folder, under a name that is free there.
  func move(_ name: FileName, into target: Directory) throws(SystemError) {
    var free = name
    while true {
      do throws(SystemError) {
        return try rename(name, to: free, in: target, replacing: false)
      } catch {
        guard error.code == .exists else { throw error }
      }
      let ending = "." + String(UInt32.random(in: .min ... .max), radix: 36)
      free = FileName(bytes: name.bytes.prefix(255 - ending.utf8.count)).appending(ending)
    }
  }
}
