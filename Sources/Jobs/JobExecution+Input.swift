public import Foundation
package import SystemSupport

extension JobExecution {
  /// Opens a regular file for reading that the job names, if its submitter may read it.
  ///
  /// The daemon may have rights that the submitter lacks; a job can't use them through this function. A path that isn't
  /// absolute starts at ``payloadDirectory``. Every folder on the way is checked, and nothing that happens to the path
  /// meanwhile leads to another file.
  /// - Parameter path: as the job's arguments have it.
  /// - Returns: the file, open at its beginning.
  /// - Throws: ``JobFailure`` with what is in the way, and what to do.
  public func openInput(_ path: String) throws -> FileHandle {
    let file = try submitterIdentity().openInput(absolutePath(path))
    return FileHandle(fileDescriptor: file.relinquish(), closeOnDealloc: true)
  }

  /// Returns the user whose rights bound what the job may read and write.
  package func submitterIdentity() throws -> UserIdentity {
    do throws(SystemError) { return try UserIdentity(lookingUp: submitter) } catch {
      throw JobFailure("the groups of the submitter can't be found out: \(error)", isPermanent: error.isLasting)
    }
  }
}

extension UserIdentity {
  /// Opens an input that a job of this user names.
  package func openInput(_ path: String) throws -> FileDescriptor {
    do throws(PathProblem) { return try openFile(path) } catch {
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
    }
  }
}
