import Foundation
import SystemSupport

// Before there is another thread: the service manager lets the daemon see who is writing to a job file (CAP_LEASE), and
// programs that it starts need not.
do { try Capabilities.keepFromChildren() } catch {
  FileHandle.standardError.write(Data("bobbind: programs that are started inherit capabilities: \(error)\n".utf8))
}

// The main queue serves signals and the watchdog; the daemon's work runs on its own executors.
let command = Command(Array(CommandLine.arguments.dropFirst()))
command.run()
