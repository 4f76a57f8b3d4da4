import Glibc

/// Messages of why nobody could be reached, and of what to do about it.
extension ControlClient {
  /// - Parameter code: the kernel's reason; 0 if there is none, as when too many others wait for their connection.
  func connectFailure(_ code: Int32) -> ControlClientError {
    switch code {
    case ENOENT:
      failure(
        .socketMissing,
        "bobbind does not listen at \(socketPath); is it running, and not waiting for its store? Try "
          + "\"systemctl status bobbind\", or name its --root")
    case EACCES, EPERM:
      failure(.permissionDenied, "you may not connect to \(socketPath); \(wayIn)")
    case ECONNREFUSED:
      failure(
        .connectionRefused,
        "nobody listens at \(socketPath) any more: bobbind has stopped without removing it. Start bobbind again")
    case 0, EAGAIN:
      failure(.transport, "too many others want to connect to \(socketPath) at this moment; try again")
    default:
      // glibc keeps this text per thread.
      failure(.transport, "can't connect to \(socketPath): \(String(cString: strerror(code)))")
    }
  }

  /// The step that gives this user the right to connect.
  private var wayIn: String {
    var status = stat()
    guard stat(socketPath, &status) == 0, status.st_gid != 0, let entry = getgrgid(status.st_gid) else {
      return "the daemon's user and root may (see \"ls -l \(socketPath)\")"
    }
    let group = String(cString: entry.pointee.gr_name)
    let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "USER"
    return "members of the group \(group) may: as root, run \"adduser \(user) \(group)\", then log in again"
  }
}
