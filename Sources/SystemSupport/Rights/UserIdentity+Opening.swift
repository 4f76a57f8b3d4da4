extension UserIdentity {
  /// Opens a regular file that this user named, for reading, if the user may reach and read it.
  ///
  /// It neither waits for nor changes a FIFO or device, and the file opened is the one checked, whatever happens to the
  /// path meanwhile.
  package func openFile(_ path: String) throws(PathProblem) -> FileDescriptor {
    let node = try PathWalk(path, for: self).node(at: PathWalk.components(of: Array(path.utf8)))
    guard node.status.kind == .regular else { throw PathProblem("it is no regular file") }
    try refuseKernelFiles(node)
    if needsChecks {
      let isAllowed: Bool
      do throws(SystemError) {
        isAllowed = try node.descriptor.allows(self, .read, node.status)
      } catch {
        throw PathProblem(error)
      }
      if !isAllowed { throw .deniedReading(self, file: node.place) }
    }
    do throws(SystemError) {
      return try node.descriptor.reopenedForReading()
    } catch {
      // The descriptor's path would tell nobody anything.
      throw PathProblem(SystemError(error.code, call: "open", subject: path))
    }
  }

  /// Opens the folder in which this user wants to put a file, if the user may.
  ///
  /// - Returns: The folder, and the file's name in it, which is not looked at.
  package func openFolder(ofOutput path: String) throws(PathProblem) -> (Directory, FileName) {
    var components = PathWalk.components(of: Array(path.utf8))
    guard let name = components.popLast(), name.isSingleComponent else {
      throw PathProblem("the path names a folder, not a file")
    }
    let node = try PathWalk(path, for: self).folder(at: components, granting: [.write, .search])
    do throws(SystemError) {
      return (Directory(path: node.place, descriptor: try node.descriptor.reopenedAsFolder()), name)
    } catch {
      throw PathProblem(SystemError(error.code, call: "open", subject: node.place))
    }
  }
}
