import CLinux
import Glibc

extension ChildLaunch {
  /// Starts the program in a process group of its own, with default signal handling, and returns its process ID.
  ///
  /// The caller must reap it. A program that can't be executed is reported here, not as an exit status.
  func spawn() throws(SystemError) -> Int32 {
    let environment = self.environment.map { "\($0.key)=\($0.value)" }.sorted()
    for text in [executable] + arguments + environment where text.utf8.contains(0) {
      throw SystemError(
        .invalidArgument, call: "posix_spawn", subject: executable, hint: "\"\(displayName(text))\" has a zero byte")
    }
    var actions = posix_spawn_file_actions_t()
    try errorReturningCall("posix_spawn_file_actions_init") { posix_spawn_file_actions_init(&actions) }
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = posix_spawnattr_t()
    try errorReturningCall("posix_spawnattr_init") { posix_spawnattr_init(&attributes) }
    defer { posix_spawnattr_destroy(&attributes) }
    try prepare(&attributes)

    // Sources move above every target first, so that no dup2 overwrites a source another one still needs, and none
    // meets itself, which would leave it closed on exec.
    let firstFree = max(3, (descriptors.keys.max() ?? 2) + 1)
    var sources: [Int32] = []
    defer { for source in sources { _ = close(source) } }
    try addDirectory(to: &actions)
    for target in 0..<firstFree {
      if let descriptor = descriptors[target] {
        let source = try systemCall("fcntl", "descriptor \(descriptor)") {
          fcntl(descriptor, F_DUPFD_CLOEXEC, firstFree)
        }
        sources.append(source)
        try errorReturningCall("posix_spawn_file_actions_adddup2") {
          posix_spawn_file_actions_adddup2(&actions, source, target)
        }
      } else if target <= 2 {
        try errorReturningCall("posix_spawn_file_actions_addopen") {
          posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0)
        }
      } else {
        try errorReturningCall("posix_spawn_file_actions_addclose") {
          posix_spawn_file_actions_addclose(&actions, target)
        }
      }
    }
    try errorReturningCall("posix_spawn_file_actions_addclosefrom_np") {
      posix_spawn_file_actions_addclosefrom_np(&actions, firstFree)
    }

    let argumentStrings = CStringArray([executable] + arguments)
    let environmentStrings = CStringArray(environment)
    var processID: pid_t = 0
    try errorReturningCall("posix_spawn", executable) {
      posix_spawn(&processID, executable, &actions, &attributes, argumentStrings.pointers, environmentStrings.pointers)
    }
    return processID
  }

  private func prepare(_ attributes: inout posix_spawnattr_t) throws(SystemError) {
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    let flags = Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
    try errorReturningCall("posix_spawnattr_setflags") { posix_spawnattr_setflags(&attributes, flags) }
    try errorReturningCall("posix_spawnattr_setpgroup") { posix_spawnattr_setpgroup(&attributes, 0) }
    try errorReturningCall("posix_spawnattr_setsigmask") { posix_spawnattr_setsigmask(&attributes, &none) }
    try errorReturningCall("posix_spawnattr_setsigdefault") { posix_spawnattr_setsigdefault(&attributes, &all) }
  }

  private func addDirectory(to actions: inout posix_spawn_file_actions_t) throws(SystemError) {
    guard let workingDirectory else { return }
    try errorReturningCall("posix_spawn_file_actions_addchdir_np", workingDirectory) {
      posix_spawn_file_actions_addchdir_np(&actions, workingDirectory)
    }
  }
}
