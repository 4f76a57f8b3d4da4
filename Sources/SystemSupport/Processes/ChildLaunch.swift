import CLinux
import Dispatch
import Foundation
import Glibc
import Synchronization

/// A program to start and what it gets: nothing is inherited that isn't named here.
package struct ChildLaunch: Sendable {
  /// The program's path; `PATH` isn't searched.
  package var executable: String
  /// The arguments after the program's name.
  package var arguments: [String]
  /// The whole environment.
  package var environment: [String: String]
  /// The child's descriptor numbers and the parent's descriptors they become.
  ///
  /// Missing ones among 0, 1 and 2 are `/dev/null`; all others are closed in the child. The parent's descriptors must
  /// stay open during the launch and stay the parent's.
  package var descriptors: [Int32: Int32]
  /// Nil keeps the parent's.
  package var workingDirectory: String?
  /// True if what the child leaves behind in its process group is killed when the child itself ends.
  package var killsGroupAtExit: Bool
  /// True if the child is killed when this process ends, however that happens; it then can't gain privileges either.
  package var diesWithParent = false
  /// The limits of the child and its descendants; one above this process's own is lowered, unless it may be raised.
  package var limits: [ResourceLimit: UInt64] = [:]
  /// The permission bits that files made by the child don't get; nil keeps the parent's.
  package var fileModeMask: UInt32?
  /// From -20 to 19, less favoured with higher numbers; nil keeps the parent's, and so does a sandbox that forbids any other.
  package var niceness: Int32?
  /// The user that the child runs as, which takes a privileged parent; nil keeps the parent's.
  package var user: UserAccount?

  package init(
    executable: String, arguments: [String] = [], environment: [String: String] = [:],
    descriptors: [Int32: Int32] = [:], workingDirectory: String? = nil, killsGroupAtExit: Bool = true
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.descriptors = descriptors
    self.workingDirectory = workingDirectory
    self.killsGroupAtExit = killsGroupAtExit
  }
}

extension ChildLaunch {
  /// Starts the program in a session and process group of its own, with default signal handling.
  ///
  /// The caller must reap it. A program that can't be executed is reported here, not as an exit status.
  /// - Returns: Its process ID.
  func spawn() throws(SystemError) -> Int32 {
    let environment = self.environment.map { "\($0.key)=\($0.value)" }.sorted()
    for text in [executable] + arguments + environment where text.utf8.contains(0) {
      throw SystemError(
        .invalidArgument, call: "execve", subject: executable, hint: "\"\(displayName(text))\" has a zero byte")
    }
    // Sources lie above every target, so that no target overwrites a source that another one still needs, and none
    // meets itself, which would leave it closed on exec.
    let targetCount = max(3, (descriptors.keys.max() ?? 2) + 1)
    let null = try FileDescriptor.null()
    var sources: [Int32] = []
    defer { for source in sources where source >= 0 { _ = close(source) } }
    for target in 0..<targetCount {
      if let descriptor = descriptors[target] ?? (target <= 2 ? null.number : nil) {
        sources.append(
          try systemCall("fcntl", FileDescriptor.subject(of: descriptor)) {
            fcntl(descriptor, F_DUPFD_CLOEXEC, targetCount)
          })
      } else {
        sources.append(-1)
      }
    }
    return try spawn(
      arguments: CStringArray([executable] + arguments), environment: CStringArray(environment),
      paths: CStringArray([executable, workingDirectory ?? ""]), sources: sources)
  }

  private func spawn(
    arguments: CStringArray, environment: CStringArray, paths: CStringArray, sources: [Int32]
  ) throws(SystemError) -> Int32 {
    var launch = linux_launch()
    launch.executable = UnsafePointer(paths.pointers[0])
    launch.arguments = UnsafePointer(arguments.pointers)
    launch.environment = UnsafePointer(environment.pointers)
    launch.directory = workingDirectory == nil ? nil : UnsafePointer(paths.pointers[1])
    launch.mode_mask = fileModeMask.map(Int32.init) ?? -1
    launch.sets_niceness = niceness == nil ? 0 : 1
    launch.niceness = niceness ?? 0
    launch.sets_user = user == nil ? 0 : 1
    launch.user = user?.user ?? 0
    launch.group = user?.group ?? 0
    launch.parent = diesWithParent ? getpid() : 0
    let limits = self.limits.map { linux_limit(resource: $0.key.resource, value: $0.key.bounds($0.value)) }
    let groups = user?.groups ?? []
    let processID = sources.withUnsafeBufferPointer { sources in
      limits.withUnsafeBufferPointer { limits in
        groups.withUnsafeBufferPointer { groups in
          launch.sources = sources.baseAddress
          launch.source_count = Int32(sources.count)
          launch.limits = limits.baseAddress
          launch.limit_count = Int32(limits.count)
          launch.groups = groups.baseAddress
          launch.group_count = Int32(groups.count)
          return withExtendedLifetime((arguments, environment, paths)) { linux_spawn(&launch) }
        }
      }
    }
    if processID >= 0 { return processID }
    let call = launch.failed_call.map { String(cString: $0) } ?? "clone"
    throw SystemError(
      .init(rawValue: launch.error), call: call, subject: call == "chdir" ? workingDirectory : executable)
  }
}

extension ChildLaunch {
  /// The error of a start with its reason, where that is a wall of this process's sandbox or a missing interpreter.
  package func explaining(_ error: SystemError) -> SystemError {
    let path = error.call == "chdir" ? workingDirectory ?? executable : executable
    if let wall = Sandbox.ofThisProcess()?.explanation(at: path, of: path, for: .reading, after: error.code) {
      return error.hinting(wall)
    }
    guard error.call == "execve", let missing = missingInterpreter else { return error }
    return error.hinting(missing)
  }

  /// The reason why this process can't execute the program, as far as files tell; nil if nothing is in the way.
  package var obstacle: String? {
    // A folder may be entered, which asks for the same right.
    if access(executable + "/.", F_OK) == 0 { return "\(displayName(executable)) is a folder" }
    do throws(SystemError) {
      try systemCall("execve", executable) { faccessat(AT_FDCWD, executable, X_OK, AT_EACCESS) }
    } catch {
      return "\(explaining(error))"
    }
    return missingInterpreter
  }

  /// The reason why this process can't enter the working directory; nil if nothing is in the way, or if there is none.
  package var workingDirectoryObstacle: String? {
    guard let folder = workingDirectory else { return nil }
    do throws(SystemError) {
      try systemCall("chdir", folder) { faccessat(AT_FDCWD, folder + "/.", X_OK, AT_EACCESS) }
      return nil
    } catch {
      return "\(explaining(error))"
    }
  }

  /// The words for an interpreter that a script's first line names and that can't be executed; nil if there is none.
  private var missingInterpreter: String? {
    let words = interpreterLine
    guard let interpreter = words.first else { return nil }
    if access(interpreter, X_OK) != 0 {
      return "its interpreter \(displayName(interpreter)) is missing or can't be executed"
    }
    // env(1) looks for its operand in PATH; what stands behind options is its own affair.
    guard interpreter.hasSuffix("/env"), words.count > 1, let path = environment["PATH"] else { return nil }
    let name = words[1]
    if name.hasPrefix("-") || name.contains("=") || name.contains("/") { return nil }
    let isThere = path.split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
    return isThere ? nil : "its interpreter \(displayName(name)) is not in the PATH \(path)"
  }

  /// The words behind `#!` in the first line of a script; none for other programs. See execve(2).
  private var interpreterLine: [String] {
    guard let file = try? FileDescriptor.open(executable) else { return [] }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = bytes.withUnsafeMutableBytes { buffer in (try? file.read(into: buffer)) ?? 0 }
    let line = bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
    guard line.starts(with: "#!".utf8) else { return [] }
    return String(decoding: line.dropFirst(2), as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
  }
}

/// The one thread that starts child processes, and that lives as long as this process.
///
/// A child's parent-death signal is sent when the *thread* that started it ends. Dispatch ends its idle threads, which
/// would kill healthy helpers, so children are started here.
final class SpawnThread: Sendable {
  static let shared = SpawnThread()

  private let requests = Mutex<[SpawnRequest]>([])
  private let available = DispatchSemaphore(value: 0)

  private init() {
    let thread = Thread { [self] in
      while true {
        available.wait()
        requests.withLock { $0.removeFirst() }.perform()
      }
    }
    thread.name = "spawn"
    thread.start()
  }

  /// Starts a child and returns its process ID; waits for the start, which takes about a millisecond.
  func spawn(_ launch: ChildLaunch) throws(SystemError) -> Int32 {
    let request = SpawnRequest(launch)
    requests.withLock { $0.append(request) }
    available.signal()
    return try request.outcome()
  }
}

/// One start, requested on one thread and made on another.
private final class SpawnRequest: Sendable {
  private let launch: ChildLaunch
  private let result = Mutex<Result<Int32, SystemError>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  init(_ launch: ChildLaunch) {
    self.launch = launch
  }

  func perform() {
    let outcome = Result { () throws(SystemError) in try launch.spawn() }
    result.withLock { $0 = outcome }
    done.signal()
  }

  func outcome() throws(SystemError) -> Int32 {
    done.wait()
    guard let outcome = result.withLock({ $0 }) else { preconditionFailure("signalled before there was an outcome") }
    return try outcome.get()
  }
}

/// A null-terminated array of C strings, as `execve` takes them, freed with this object.
private final class CStringArray {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ strings: [String]) {
    count = strings.count
    pointers = .allocate(capacity: count + 1)
    for (index, string) in strings.enumerated() { (pointers + index).initialize(to: strdup(string)) }
    (pointers + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
