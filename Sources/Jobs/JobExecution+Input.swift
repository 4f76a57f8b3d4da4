public import Foundation
package import SystemSupport

extension JobExecution {
  /// Opens a regular file for reading that the job names, if its submitter may read it.
  ///
  /// The daemon may have rights that the submitter lacks; a job can't use them through this function. A path that isn't
  /// absolute starts at ``payloadDirectory``. Every folder on the way is checked, and nothing that happens to the path
  /// meanwhile leads to another file. In a fleet it may be a copy that has come with the job.
  /// - Parameter path: as the job's arguments have it.
  /// - Returns: the file, open at its beginning.
  /// - Throws: ``JobFailure`` with what is in the way, and what to do.
  public func openInput(_ path: String) throws -> FileHandle {
    let file = try openInput(path, for: submitterIdentity())
    return FileHandle(fileDescriptor: file.relinquish(), closeOnDealloc: true)
  }

  /// Opens an input that the job names, with the rights of its submitter.
  ///
  /// - Parameters:
  ///   - path: as the job's arguments have it.
  ///   - submitter: as ``submitterIdentity()`` returns it.
  package func openInput(_ path: String, for submitter: UserIdentity) throws -> FileDescriptor {
    if let copy = try copies?.open(path) { return copy }
    let place = absolutePath(path)
    if let upload = try uploads?.open(place, for: self.submitter) { return upload }
    do throws(PathProblem) { return try submitter.openFile(place) } catch {
      var failure = JobFailure(
        "the input \(displayName(place)) can't be read: \(error)", isPermanent: error.isLasting)
      failure.isShortage = error.isOfHost
      throw failure
    }
  }

  /// Returns the user whose rights bound what the job may read and write.
  package func submitterIdentity() throws -> UserIdentity {
    do throws(SystemError) { return try UserIdentity(lookingUp: submitter) } catch {
      throw JobFailure("the groups of the submitter can't be found out: \(error)", isPermanent: error.isLasting)
    }
  }
}
