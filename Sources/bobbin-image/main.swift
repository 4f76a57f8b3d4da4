import Glibc
import ImageProtocol
import SystemSupport

/// Ends with a line on standard error, which the daemon keeps.
func fail(_ message: String, code: Int32) -> Never {
  let line = Array("bobbin-image: \(message)\n".utf8)
  // A failure of this can't be reported.
  _ = write(STDERR_FILENO, line, line.count)
  exit(code)
}

if CommandLine.arguments.dropFirst() == ["--version"] {
  print(Release.description(of: "bobbin-image"))
  exit(EXIT_SUCCESS)
}
// Started by the daemon's pool only: the socket is descriptor 3 and the arguments are the process's limits.
guard let arguments = ImageHelperArguments(commandLine: CommandLine.arguments.dropFirst()),
  fcntl(ImageHelperArguments.socketDescriptor, F_GETFD) >= 0
else {
  fail("this program is started by bobbind and is of no use alone", code: EX_USAGE)
}
let socket = DescriptorSocket(FileDescriptor(owning: ImageHelperArguments.socketDescriptor))
do {
  try Confinement.apply(arguments)
  try VipsLibrary.start(threads: arguments.threads)
  let addressSpace = try AddressSpace(most: arguments.addressSpace)
  // Libraries and their modules are all loaded by now; pictures come as descriptors.
  try OpenFilesOnly.enter()
  try RequestLoop(addressSpace: addressSpace).serve(socket)
} catch {
  fail("\(error)", code: EX_OSERR)
}
