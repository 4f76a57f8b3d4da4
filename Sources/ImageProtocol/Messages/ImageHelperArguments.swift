/// What a helper is told when it starts: the limits of its process and where its socket is.
package struct ImageHelperArguments: Sendable, Equatable {
  /// The descriptor number of the helper's end of the socket pair.
  package static let socketDescriptor: Int32 = 3

  /// The helper's largest address space in bytes, shared libraries (about 300 MB) included; each picture gets of it what
  /// its estimate says.
  package var addressSpace: Int
  /// The largest output file in bytes.
  package var outputBytes: Int
  /// The threads of one decode and encode.
  package var threads: Int

  package init(addressSpace: Int = 16 << 30, outputBytes: Int = 1 << 30, threads: Int = 1) {
    self.addressSpace = addressSpace
    self.outputBytes = outputBytes
    self.threads = threads
  }

  /// The command line that says this.
  package var commandLine: [String] {
    ["--address-space=\(addressSpace)", "--output-bytes=\(outputBytes)", "--threads=\(threads)"]
  }

  /// Reads a command line without the program's name, or nothing if it isn't exactly of this form.
  package init?(commandLine: some Sequence<String>) {
    self.init()
    for argument in commandLine {
      let parts = argument.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, let value = Int(parts[1]), value > 0 else { return nil }
      switch parts[0] {
      case "--address-space": addressSpace = value
      case "--output-bytes": outputBytes = value
      case "--threads": threads = value
      default: return nil
      }
    }
  }
}
