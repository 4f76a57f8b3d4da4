public import Foundation
import SystemSupport

extension JobExecution {
  /// Opens a regular file named by the job for reading, if its submitter may read it.
  ///
  /// The daemon may have rights that the submitter lacks; opened this way, a job can't use them. A path that isn't
  /// absolute starts at ``payloadDirectory``. Every folder on the way is checked, and nothing that happens to the path
  /// meanwhile leads to another file.
  /// - Throws: ``JobFailure`` with the obstacle, and what to do about it.
  public func openInput(_ path: String) throws(JobFailure) -> FileHandle {
    let path = absolutePath(path)
    let user: UserIdentity
    do throws(SystemError) { user = try UserIdentity(lookingUp: submitter) } catch {
      throw JobFailure("the groups of the submitter can't be found out: \(error)", isPermanent: error.isLasting)
    }
    do throws(PathProblem) {
      return FileHandle(fileDescriptor: try user.openFile(path).take(), closeOnDealloc: true)
    } catch {
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
    }
  }
}
