import FoundationEssentials
import Glibc
import ImageProtocol
import SystemSupport

/// Answers one request after the other until the daemon closes the socket.
struct RequestLoop {
  let addressSpace: AddressSpace

  func serve(_ socket: borrowing DescriptorSocket) throws {
    while var message = try socket.receive(limit: ImageMessage.maximumBytes) {
      let bytes = [UInt8](message.data)
      let header = try? ImageMessage.header(of: bytes)
      var hasBegun = false
      let result = Result { () throws(ImageError) in
        try answer(bytes, files: &message.descriptors, socket, hasBegun: &hasBegun)
      }
      var reply = ImageMessage.Answer(number: header?.number ?? 0, result: result)
      reply.hasBegun = hasBegun
      try socket.send(Data(try ImageMessage.encode(reply)))
    }
  }

  /// Handles a request; every descriptor that came with it is closed when this returns.
  private func answer(
    _ bytes: [UInt8], files: inout ReceivedDescriptors, _ socket: borrowing DescriptorSocket, hasBegun: inout Bool
  ) throws(ImageError) -> ImageReply {
    let message = try ImageMessage.decode(ImageMessage.Request.self, from: bytes)
    let request = message.request
    guard let input = files.popFirst() else { throw .protocolMismatch("a request came without its input") }
    var open = OpenFiles()
    while let output = files.popFirst() { open.append(output) }
    let outputs = try open.outputs(of: request)
    try Confinement.allowProcessorTime(seconds: request.limits.processorSeconds)
    let inputBytes = try PictureInput.size(of: input.number, limit: request.limits.maxBytes)
    try addressSpace.allowHeader(input: inputBytes)
    var encoder = try PictureEncoder(request, input: input.number)
    let memory = encoder.memoryEstimate
    try addressSpace.check(memory, input: inputBytes)
    if memory > message.freeMemory {
      let question = ImageQuestion(input: encoder.input.description, memory: memory)
      var known = try ask(question, number: message.number, socket)
      try copy(&known, to: outputs, request)
      var rest = request
      rest.wantsPlaceholder = request.wantsPlaceholder && !known.permission.knowsPlaceholder
      if known.permission.known.count == outputs.count && !rest.wantsPlaceholder {
        return ImageReply(input: question.input, outputs: [])
      }
      if request.keepsFiles {
        guard let copy = known.message.descriptors.popFirst() else {
          throw .protocolMismatch("a permission came without a file for a copy of the input")
        }
        try InputCopy.make(of: input.number, in: copy.number, expected: question.input)
        encoder = try PictureEncoder(
          rest, input: copy.number, sha256: question.input.sha256, sparing: Set(known.permission.known))
      }
    }
    defer { Confinement.releaseMemory(after: memory) }
    hasBegun = true
    try addressSpace.allow(memory, input: inputBytes)
    return try encoder.encode(to: outputs) { (made) throws(ImageError) in
      if message.tellsProgress == true { try tell(ImageMessage.Answer(number: message.number, made: made), socket) }
    }
  }

  private func tell(
    _ answer: ImageMessage.Answer, _ socket: borrowing DescriptorSocket
  ) throws(ImageError) {
    let bytes = try ImageMessage.encode(answer)
    do throws(SystemError) { try socket.send(Data(bytes)) } catch {
      throw ImageError(.helperUnavailable, "the daemon can't be told: \(error)", permanent: false)
    }
  }

  /// The daemon's answer to a question.
  private struct Known: ~Copyable {
    let permission: ImageMessage.Permission
    var message: DescriptorMessage
  }

  /// Waits for the daemon's permission, which it gives when there is memory.
  private func ask(
    _ question: ImageQuestion, number: UInt64, _ socket: borrowing DescriptorSocket
  ) throws(ImageError) -> Known {
    try tell(ImageMessage.Answer(number: number, question: question), socket)
    let received: DescriptorMessage
    do throws(SystemError) {
      guard let message = try socket.receive(limit: ImageMessage.maximumBytes) else {
        throw SystemError(.brokenPipe, call: "recvmsg")
      }
      received = message
    } catch {
      throw ImageError(.helperUnavailable, "the daemon can't be asked: \(error)", permanent: false)
    }
    let permission = try ImageMessage.decode(ImageMessage.Permission.self, from: [UInt8](received.data))
    guard permission.number == number else { throw .protocolMismatch("a permission is for another request") }
    return Known(permission: permission, message: received)
  }

  /// Copies outputs that were made before.
  private func copy(
    _ known: inout Known, to outputs: [[Int32]], _ request: ImageRequest
  ) throws(ImageError) {
    for index in known.permission.known where outputs.indices.contains(index) {
      guard let file = known.message.descriptors.popFirst() else {
        throw .protocolMismatch("there are too few files to copy from")
      }
      try OutputFiles(outputs[index].dropLast(request.keepsFiles ? 1 : 0), position: index + 1).copy(of: file.number)
    }
  }
}

/// The outputs of one request, closed together.
private struct OpenFiles: ~Copyable {
  private(set) var numbers: [Int32] = []

  mutating func append(_ file: consuming FileDescriptor) {
    numbers.append(file.relinquish())
  }

  /// Returns the files of each output.
  func outputs(of request: ImageRequest) throws(ImageError) -> [[Int32]] {
    guard numbers.count == request.fileCount else {
      throw .invalidRequest("\(request.fileCount) files were asked for, but \(numbers.count) came")
    }
    var rest = numbers[...]
    var outputs: [[Int32]] = []
    for (index, output) in request.outputs.enumerated() {
      let files = Array(rest.prefix(output.fileCount))
      rest = rest.dropFirst(output.fileCount)
      try OutputFiles(files, position: index + 1).check()
      outputs.append(files)
    }
    return outputs
  }

  deinit {
    for number in numbers { _ = FileDescriptor(owning: number) }
  }
}

/// A copy of the input that no other process can write to, so that kept pictures belong to the input's hash.
enum InputCopy {
  /// Copies inside the kernel, and hashes the copy.
  ///
  /// - Parameters:
  ///   - target: an empty file.
  ///   - expected: what the input was when its hash was made.
  static func make(of input: Int32, in target: Int32, expected: ImageReply.Input) throws(ImageError) {
    var offset: off_t = 0
    while offset < expected.bytes {
      let count = sendfile(target, input, &offset, expected.bytes - offset)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else {
        throw ImageError(
          .output, "the input can't be copied for reuse: \(String(cString: strerror(errno)))", permanent: false)
      }
      if count == 0 { break }
    }
    lseek(target, 0, SEEK_SET)
    guard offset == expected.bytes, try FileHash.sha256(of: target) == expected.sha256 else {
      throw ImageError(.inputChanged, "the input was changed while it was read", permanent: false)
    }
  }
}
