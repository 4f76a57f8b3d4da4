import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

// The environment belongs to the whole process, so each of these runs in a process of its own.
@Suite struct ServiceManagerTests {
  @Test("Without a manager nothing is told, expected or passed")
  func unmanaged() async {
    await #expect(processExitsWith: .success) {
      for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID"] { unsetenv(name) }
      let isTold = try ServiceManager.notify([.ready, .status("x")])
      let interval = try ServiceManager.watchdogInterval()
      let names = try ServiceManager.adoptListenDescriptors().names
      try #require(!isTold && interval == nil && names.isEmpty)
    }
  }

  @Test("Notifications reach the manager's socket in its words")
  func notifications() async {
    await #expect(processExitsWith: .success) {
      let name = "bobbin-notify-\(getpid())"
      let socket = try notificationSocket(abstractName: name)
      setenv("NOTIFY_SOCKET", "@" + name, 1)
      try #require(try ServiceManager.notify([.ready, .status("two\nlines")]))
      try #require(received(socket) == "READY=1\nSTATUS=two\\nlines")
      try ServiceManager.notify([.reloading])
      let reloading = received(socket)
      try #require(reloading.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
      try #require((UInt64(reloading.split(separator: "=").last ?? "") ?? 0) > 0)
      try ServiceManager.notify([.stopping, .extendTimeout(.milliseconds(1500)), .watchdog, .failure(errno: 5)])
      try #require(received(socket) == "STOPPING=1\nEXTEND_TIMEOUT_USEC=1500000\nWATCHDOG=1\nERRNO=5")
    }
  }

  @Test("A manager that has gone is an error, not a crash")
  func deadManager() async {
    await #expect(processExitsWith: .success) {
      setenv("NOTIFY_SOCKET", "/nowhere/notify", 1)
      let error = #expect(throws: SystemError.self) { try ServiceManager.notify([.ready]) }
      try #require(error?.code == .noEntry)
    }
  }

  @Test("The watchdog's interval is the one the manager asks this process for")
  func watchdog() async {
    await #expect(processExitsWith: .success) {
      setenv("WATCHDOG_USEC", "30000000", 1)
      setenv("WATCHDOG_PID", "\(getpid())", 1)
      try #require(try ServiceManager.watchdogInterval() == .seconds(30))
      setenv("WATCHDOG_PID", "1", 1)
      try #require(try ServiceManager.watchdogInterval() == nil)
    }
  }

  @Test("Passed sockets are taken by name, once, and the others are closed")
  func listenDescriptors() async throws {
    let tool = try await Tool.run("passed-sockets")
    #expect(tool.output == "done\n")
    #expect(tool.code == 0, "\(tool.errors)")
  }
}
/// A datagram socket as systemd has one, on an abstract address so that nothing is left behind.
private func notificationSocket(abstractName: String) throws -> FileDescriptor {
  let number = try systemCall("socket") { socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0) }
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.dropFirst().copyBytes(from: Array(abstractName.utf8)) }
  let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + abstractName.utf8.count)
  try systemCall("bind") {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
    }
  }
  return FileDescriptor(owning: number)
}

private func received(_ socket: borrowing FileDescriptor) -> String {
  var buffer = [UInt8](repeating: 0, count: 4096)
  let number = socket.number
  let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
  return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
}
