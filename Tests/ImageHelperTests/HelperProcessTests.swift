import Foundation
import Glibc
import ImageProtocol
import SystemSupport
import TestSupport
import Testing

@Suite("Image helper process", .timeLimit(.minutes(10)))
struct HelperProcessTests {
  /// Starts the real helper below a shell and returns the shell and the tests' end of the socket.
  private func startHelper() throws -> (shell: ChildProcess, socket: Int32) {
    let helper = try RepositoryPaths.executable("bobbin-image").path(percentEncoded: false)
    let sockets = try FileDescriptor.socketPair(.sequencedPackets)
    let launch = ChildLaunch(
      executable: "/bin/sh",
      arguments: ["-c", "\"$@\" & exec 3>&-; wait", "sh", helper] + ImageHelperArguments().commandLine,
      descriptors: [ImageHelperArguments.socketDescriptor: sockets.second.number], killsGroupAtExit: false)
    let shell = try ChildProcess.start(launch)
    return (shell, sockets.split { (ours, _) in ours.relinquish() })
  }

  private func answer(to text: String, through socket: borrowing DescriptorSocket) throws -> ImageMessage.Answer {
    try socket.send(Data(text.utf8), by: .after(.seconds(20)))
    let received = try socket.receive(limit: ImageMessage.maximumBytes, by: .after(.seconds(20)))
    guard let received else { throw SystemError(.brokenPipe, call: "recvmsg") }
    return try ImageMessage.decode(ImageMessage.Answer.self, from: [UInt8](received.data))
  }

  @Test("What is not of the protocol's version is answered with its number and the reason")
  func protocolMismatch() async throws {
    let (shell, number) = try startHelper()
    let socket = DescriptorSocket(FileDescriptor(owning: number))
    let garbage = try answer(to: "garbage", through: socket)
    #expect(garbage.number == 0 && garbage.error?.code == .protocolMismatch)
    let newer = try answer(to: #"{"version": 99, "number": 7}"#, through: socket)
    #expect(newer.number == 7 && newer.error?.code == .protocolMismatch)
    #expect(newer.error?.message.contains("speak versions \(ImageMessage.version) and 99") == true)
    let bare = try answer(
      to: String(
        decoding: try ImageMessage.encode(
          ImageMessage.Request(number: 8, request: ImageRequest(outputs: [ImageOutput(format: .png)]))), as: UTF8.self),
      through: socket)
    #expect(bare.number == 8 && bare.error?.message == "a request came without its input")
    _ = try await shell.stop(grace: .zero)
  }

  @Test("A helper ends with the process that started it, though its socket is open")
  func parentDeath() async throws {
    let (shell, number) = try startHelper()
    let socket = DescriptorSocket(FileDescriptor(owning: number))
    _ = try answer(to: "garbage", through: socket)
    try shell.kill(SIGKILL)
    _ = try await shell.termination(by: .after(.seconds(10)))
    // Only the helper still holds the other end.
    #expect(try socket.receive(limit: 1, by: .after(.seconds(10))) == nil)
  }

  @Test("Started by hand, it says what it is and ends", arguments: [[], ["--threads=0"], ["picture.jpg"]])
  func byHand(_ arguments: [String]) async throws {
    let helper = try RepositoryPaths.executable("bobbin-image").path(percentEncoded: false)
    let output = try FileDescriptor.inMemory(named: "output")
    let child = try ChildProcess.start(
      ChildLaunch(executable: helper, arguments: arguments, descriptors: [2: output.number]))
    let end = try await child.termination(killingAt: .after(.seconds(20)))
    #expect(end.termination.status == .exited(code: EX_USAGE))
    #expect(lseek(output.number, 0, SEEK_SET) == 0)
    #expect(String(decoding: try output.readAll(limit: 1000), as: UTF8.self).contains("started by bobbind"))
  }
}
