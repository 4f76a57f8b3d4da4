import Foundation

// The main queue serves signals and the watchdog; the daemon's work runs on its own executors.
let command = Command(Array(CommandLine.arguments.dropFirst()))
command.run()
