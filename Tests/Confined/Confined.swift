import CTrials
import Glibc
import SystemSupport

/// Tries out what a process confined to its open files can and can't do, and prints what is not as it should be.
///
/// A program of its own, because nothing may use Swift's concurrency here: see ``OpenFilesOnly/enter()``.
@main
struct Confined {
  static func main() throws {
    let open = try FileDescriptor.open("/dev/zero", .readingAndWriting)
    let pair = try FileDescriptor.socketPair(.sequencedPackets)
    try OpenFilesOnly.enter()

    var byte: UInt8 = 1
    expect(read(open.number, &byte, 1) == 1 && byte == 0, "an open file can't be read")
    expect(write(open.number, &byte, 1) == 1, "an open file can't be written")
    var thread = pthread_t()
    expect(
      pthread_create(&thread, nil, { @Sendable _ in nil }, nil) == 0 && pthread_join(thread, nil) == 0,
      "no thread can be started"
    )
    var status = stat()
    expect(
      fstat(open.number, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR, "an open file can't be looked at")
    expect(fstat(1000, &status) == -1 && errno == EBADF, "what is not open is there")

    expectRefused(Glibc.open("/etc/passwd", O_RDONLY), "open")
    expectRefused(Glibc.open("/tmp/confined", O_WRONLY | O_CREAT, 0o600), "open that makes a file")
    expectRefused(stat("/etc/passwd", &status), "stat")
    expectRefused(stat("/nonexistent", &status), "stat of what is not there")
    expectRefused(fstatat(AT_FDCWD, "/etc/passwd", &status, 0x1000), "fstatat that allows an empty path")
    expectRefused(fstatat(open.number, "passwd", &status, 0), "fstatat in an open file")
    expectRefused(unlink("/tmp/confined"), "unlink")
    expectRefused(rename("/tmp/confined", "/tmp/other"), "rename")
    expectRefused(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0), "socket")
    expectRefused(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), "socket to the network")
    expectRefused(kill(getppid(), 0), "kill of another process")
    expectRefused(chdir("/"), "chdir")
    var arguments: [UnsafeMutablePointer<CChar>?] = [nil]
    expectRefused(execv("/bin/true", &arguments), "execv")
    var child = pid_t()
    expect(posix_spawn(&child, "/bin/true", nil, nil, arguments, nil) == EPERM, "a program can be started")
    expect(
      mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
      "memory can be executed")
    expectNoOtherCalls()
    expectNoSignals(pair.first.number, pair.second.number)
    print("done")
  }

  /// Every call that the kernel may have, also by the numbers that x86-64 has for processes of 32 bits.
  static func expectNoOtherCalls() {
    for first in [0, 0x4000_0000] {
      var number = trial_next_open_call(first, first + 1000)
      while number >= 0 {
        print("the system call \(number) is not refused")
        number = trial_next_open_call(number + 1, first + 1000)
      }
    }
  }

  /// Has the kernel told whom to signal what happens to a descriptor, and happen something.
  static func expectNoSignals(_ one: Int32, _ other: Int32) {
    let (flags, parent) = (fcntl(one, F_GETFL), getppid())
    expect(flags >= 0 && fcntl(one, F_SETFL, flags | O_NONBLOCK) == 0, "a descriptor's flags can't be changed")
    expect(fcntl(one, F_GETFD) >= 0 && fcntl(one, F_SETFD, FD_CLOEXEC) == 0, "its own flags can't be changed")
    for command in [F_DUPFD, F_DUPFD_CLOEXEC] {
      let copy = fcntl(one, command, 0)
      expect(copy >= 0 && close(copy) == 0, "a descriptor can't be copied")
    }
    // Linux's own, which have no names here.
    let (setSignal, setOwner, setLease, notify) = (Int32(10), Int32(15), Int32(1024), Int32(1026))
    for command in [F_SETOWN, F_GETOWN, setSignal, setOwner, setLease, notify, F_SETLK] {
      expectRefused(fcntl(one, command, parent), "fcntl \(command)")
    }
    expectRefused(fcntl(one, F_SETFL, flags | O_ASYNC), "fcntl that asks for signals")
    var value = Int32(1)
    for request: UInt in [
      0x5452 /* FIOASYNC */, 0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */, 0x5412 /* TIOCSTI */,
    ] {
      expectRefused(ioctl(one, request, &value), "ioctl \(request)")
    }
    expect(write(other, &value, 1) == 1, "a socket can't be written")
  }

  static func expect(_ isTrue: Bool, _ words: String) { if !isTrue { print("\(words); errno is \(errno)") } }

  static func expectRefused(_ result: Int32, _ call: String) {
    expect(result == -1 && errno == EPERM, "\(call) gave \(result) and was to be refused")
  }
}
