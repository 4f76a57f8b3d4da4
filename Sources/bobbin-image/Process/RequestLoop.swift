internal import FoundationEssentials
internal import ImageProtocol
internal import SystemSupport

/// Answers one request after the other until the daemon closes the socket.
enum RequestLoop {
  static func serve(_ socket: borrowing DescriptorSocket) throws {
    while var message = try socket.receive(limit: ImageMessage.maximumBytes) {
      let bytes = [UInt8](message.data)
      let header = try? ImageMessage.header(of: bytes)
      let result = Result { () throws(ImageError) in try answer(bytes, files: &message.descriptors) }
      let reply = ImageMessage.Answer(number: header?.number ?? 0, result: result)
      try socket.send(Data(try ImageMessage.encode(reply)))
    }
  }

  /// Does what a request asks; every descriptor that came with it is closed when this returns.
  private static func answer(_ bytes: [UInt8], files: inout ReceivedDescriptors) throws(ImageError) -> ImageReply {
    let message = try ImageMessage.decode(ImageMessage.Request.self, from: bytes)
    let request = message.request
    guard let input = files.takeNext() else { throw .protocolMismatch("a request came without its input") }
    var open = OpenFiles()
    while let output = files.takeNext() { open.append(output) }
    guard open.numbers.count == request.fileCount else {
      throw .invalidRequest("\(request.fileCount) files were asked for, but \(open.numbers.count) came")
    }
    var rest = open.numbers[...]
    let outputs = request.outputs.map { output in
      defer { rest = rest.dropFirst(output.fileCount) }
      return Array(rest.prefix(output.fileCount))
    }
    for (index, files) in outputs.enumerated() { try OutputFiles(files, position: index + 1).check() }
    try Confinement.allowProcessorTime(seconds: request.limits.processorSeconds)
    return try PictureEncoder(request, input: input.number).encode(to: outputs)
  }
}

/// The outputs of one request, closed together.
private struct OpenFiles: ~Copyable {
  private(set) var numbers: [Int32] = []

  mutating func append(_ file: consuming FileDescriptor) {
    numbers.append(file.take())
  }

  deinit {
    for number in numbers { _ = FileDescriptor(owning: number) }
  }
}
