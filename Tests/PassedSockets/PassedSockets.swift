import Glibc
import SystemSupport

/// Takes sockets as systemd passes them, and prints what is not as it should be.
///
/// A program of its own, because their numbers are fixed, and in a process with Swift's concurrency or Dispatch they may
/// be in use.
@main
struct PassedSockets {
  static func main() throws {
    for (number, name) in [(Int32(3), "control"), (4, "status")] {
      let file = try FileDescriptor.inMemory(named: name).relinquish()
      expect(file == number || dup2(file, number) == number, "\(number) can't be opened")
      if file > 4 { close(file) }
    }
    setenv("LISTEN_PID", "\(getpid())", 1)
    setenv("LISTEN_FDS", "2", 1)
    setenv("LISTEN_FDNAMES", "control:status", 1)
    do {
      var passed = try ServiceManager.adoptListenDescriptors()
      expect(passed.names == ["control", "status"], "the names are \(passed.names)")
      if let taken = passed.remove(named: "status") {
        expect(taken.number == 4 && fcntl(4, F_GETFD) & FD_CLOEXEC != 0, "status is \(taken.number)")
      } else {
        print("there is no status")
      }
      let second = passed.remove(named: "status")
      expect(second == nil, "status is taken twice")
      let again = try ServiceManager.adoptListenDescriptors()
      expect(again.names.isEmpty, "the sockets are there twice")
    }
    expect(fcntl(3, F_GETFD) == -1 && fcntl(4, F_GETFD) == -1, "a socket is left open")
    print("done")
  }

  private static func expect(_ isTrue: Bool, _ words: String) { if !isTrue { print(words) } }
}
