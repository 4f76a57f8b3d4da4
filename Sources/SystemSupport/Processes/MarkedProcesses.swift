import CLinux
import Foundation
import Glibc

/// The processes that have a variable with a certain value in the environment that they were started with.
///
/// Descendants inherit it, so this finds processes that a program left behind when nothing else connects them.
package struct MarkedProcesses {
  private let mark: [UInt8]

  package init(variable: String, value: String) { mark = Array("\(variable)=\(value)".utf8) }

  /// Kills them, and waits until they are dead; this process isn't one of them.
  ///
  /// Looks at every visible process of the machine, about 20 microseconds each.
  /// - Returns: The number of processes killed.
  /// - Throws: ``SystemError/Code/timedOut`` if one can't be killed in time, as in a hung disk read.
  package func kill(by deadline: Deadline) throws -> Int {
    var count = 0
    // A process that forks during the search is found again with its children.
    while case let found = try sendKill(), !found.isEmpty {
      for process in found { try waitForEnd(of: process, by: deadline) }
      count += found.count
    }
    return count
  }

  private func sendKill() throws -> [Process] {
    var found: [Process] = []
    for name in try Directory(path: "/proc").entries() {
      guard let id = name.string.flatMap({ Int32($0) }), id != getpid(), isMarked(id) else { continue }
      let number = pidfd_open(id, 0)
      guard number >= 0 else { continue }
      let process = Process(id: id, descriptor: FileDescriptor(owning: number))
      // The number may mean another process by now; what the descriptor means stays.
      guard isMarked(id), pidfd_send_signal(number, SIGKILL, nil, 0) == 0 else { continue }
      found.append(process)
    }
    return found
  }

  private func isMarked(_ id: Int32) -> Bool {
    // It is gone, or belongs to somebody else: not one of ours.
    guard let file = try? FileDescriptor.open("/proc/\(id)/environ"),
      let environment = try? file.readAll(limit: 4 << 20)
    else { return false }
    return environment.split(separator: 0).contains { $0.elementsEqual(mark) }
  }

  private func waitForEnd(of process: Process, by deadline: Deadline) throws(SystemError) {
    var poll = pollfd(fd: process.descriptor.number, events: Int16(POLLIN), revents: 0)
    let ready = try systemCall("poll") { Glibc.poll(&poll, 1, deadline.pollTimeout) }
    if ready == 0 {
      throw SystemError(.timedOut, call: "kill", subject: "process \(process.id)", hint: "it can't be killed")
    }
  }

  private final class Process {
    let id: Int32
    let descriptor: FileDescriptor

    init(id: Int32, descriptor: consuming FileDescriptor) {
      self.id = id
      self.descriptor = descriptor
    }
  }
}
