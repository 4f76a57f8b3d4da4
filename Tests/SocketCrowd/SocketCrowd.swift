import Foundation
import Glibc
import SystemSupport

/// Opens many connections to a socket, sends the same on each and reads nothing; a connection that is cut is opened again.
///
/// Arguments: the socket, how many connections, and what to send. Prints a line when all are there; ends with its input.
@main
struct SocketCrowd {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let count = Int(arguments[2]) else { exit(64) }
    signal(SIGPIPE, SIG_IGN)
    var clients: [FileDescriptorBox] = []
    for _ in 0..<count { clients.append(try connect(to: arguments[1], saying: arguments[3])) }
    _ = write(1, "ready\n", 6)
    while true {
      var polled = [pollfd(fd: 0, events: Int16(POLLIN), revents: 0)]
      polled += clients.map { pollfd(fd: $0.descriptor.number, events: 0, revents: 0) }
      poll(&polled, nfds_t(polled.count), -1)
      if polled[0].revents != 0 { return }
      for (index, entry) in polled.dropFirst().enumerated() where entry.revents != 0 {
        clients[index] = try connect(to: arguments[1], saying: arguments[3])
      }
      // Who comes again at once is refused at once; a few hundred times a second is enough of that.
      poll(&polled, 1, 20)
    }
  }

  private static func connect(to path: String, saying text: String) throws -> FileDescriptorBox {
    let client = FileDescriptorBox(try FileDescriptor.connect(toSocketAt: path))
    let bytes = Array(text.utf8)
    _ = send(client.descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    return client
  }

  /// Lets an array hold a descriptor.
  private final class FileDescriptorBox {
    let descriptor: FileDescriptor
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
  }
}
