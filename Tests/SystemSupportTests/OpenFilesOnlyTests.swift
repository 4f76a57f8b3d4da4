import Glibc
import SystemSupport
import Testing

@Suite("A process confined to its open files")
struct OpenFilesOnlyTests {
  @Test("Without capabilities root is a user like others")
  func capabilities() async {
    await #expect(processExitsWith: .success) {
      let file = try FileDescriptor.inMemory(named: "file")
      try Capabilities.drop()
      precondition(fchown(file.number, Glibc.geteuid() + 1, 1) == -1 && errno == EPERM)
      exit(0)
    }
  }

  @Test("It reads and writes what is open, starts threads, and can do nothing else")
  func confined() async {
    await #expect(processExitsWith: .success) {
      let open = try FileDescriptor.open("/dev/zero", .readingAndWriting)
      let other = getppid()
      try OpenFilesOnly.enter()
      var byte: UInt8 = 1
      precondition(read(open.number, &byte, 1) == 1 && byte == 0 && write(open.number, &byte, 1) == 1)
      await Task.detached { precondition(getpid() > 0) }.value
      var thread = pthread_t()
      precondition(pthread_create(&thread, nil, { _ in nil }, nil) == 0 && pthread_join(thread, nil) == 0)
      func expectRefused(_ result: Int32, line: UInt = #line) {
        precondition(result == -1 && errno == EPERM, "line \(line): \(result), \(errno)")
      }
      expectRefused(Glibc.open("/etc/passwd", O_RDONLY))
      expectRefused(Glibc.open("/tmp/confined", O_WRONLY | O_CREAT, 0o600))
      var status = stat()
      precondition(fstat(open.number, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
      precondition(fstat(1000, &status) == -1 && errno == EBADF)
      expectRefused(stat("/etc/passwd", &status))
      expectRefused(stat("/nonexistent", &status))
      expectRefused(fstatat(AT_FDCWD, "/etc/passwd", &status, 0x1000))
      expectRefused(fstatat(open.number, "passwd", &status, 0))
      expectRefused(unlink("/tmp/confined"))
      expectRefused(rename("/tmp/confined", "/tmp/other"))
      expectRefused(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
      expectRefused(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
      expectRefused(kill(other, 0))
      expectRefused(chdir("/"))
      var arguments: [UnsafeMutablePointer<CChar>?] = [nil]
      expectRefused(execv("/bin/true", &arguments))
      var child = pid_t()
      precondition(posix_spawn(&child, "/bin/true", nil, nil, arguments, nil) == EPERM)
      precondition(mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      exit(0)
    }
  }
}
