import Jobs
import SystemSupport

extension JobExecution {
  /// Whose rights bound what the job may read and write.
  func submitterIdentity() throws(JobFailure) -> UserIdentity {
    do throws(SystemError) { return try UserIdentity(lookingUp: submitter) } catch {
      throw JobFailure("the groups of the submitter can't be found out: \(error)", isPermanent: error.isLasting)
    }
  }
}

extension UserIdentity {
  /// Opens an input that a job of this user names.
  func openInput(_ path: String) throws(JobFailure) -> FileDescriptor {
    do throws(PathProblem) { return try openFile(path) } catch {
      throw JobFailure("the input \(displayName(path)) can't be read: \(error)", isPermanent: error.isLasting)
    }
  }
}
