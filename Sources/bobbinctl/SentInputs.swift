import ControlClient
import Foundation
import SystemSupport

/// The files that go along with a job file, which its jobs name.
struct SentInputs {
  /// The names by which jobs mean them, and the files.
  let files: [(name: String, file: String)]

  /// The name of a file as that of an input, which jobs have in their arguments and its own ending tells its format.
  static func name(of file: String) -> String {
    let name = file.lastComponent.suffix(80).map { character -> Character in
      character.utf8.count == 1 && character.utf8.allSatisfy(isAllowed) ? character : "_"
    }
    return "file-" + String(name)
  }

  /// True for the bytes that names of inputs may have.
  static func isAllowed(_ byte: UInt8) -> Bool {
    let character = Unicode.Scalar(byte)
    return character.isASCII
      && (character.properties.isAlphabetic || ("0"..."9").contains(character)
        || ".-_".unicodeScalars.contains(character))
  }

  private func opened() throws(ToolError) -> [(name: String, file: OpenFile)] {
    try files.map { (input) throws(ToolError) in
      do throws(SystemError) {
        let file = try OpenFile(input.file)
        guard file.isRegular else { throw SystemError(.invalidArgument, call: "read", subject: input.file) }
        return (input.name, file)
      } catch {
        throw ToolError(.unreadableFile, "\(input.file) can't be sent: \(error.code)")
      }
    }
  }

  /// Submits a job file with the open files, which the daemon copies: so that it needs no right to open them.
  ///
  /// - Returns: Nil if it takes no open files, or not these; they go as a form then.
  func pass(
    with document: JobFileInput, to client: ControlClient, query: [URLQueryItem], timeout: Duration
  ) throws(ToolError) -> Reply? {
    guard case .json = document.body else { return nil }
    let files = try opened()
    let names = files.map(\.name).joined(separator: ",")
    let numbers = files.map { $0.file.descriptor.number }
    var isPassed = false
    let reply: Reply
    do throws(ToolError) {
      reply = try withExtendedLifetime(files) { () throws(ToolError) in
        try Reply.received(
          from: client, "POST", ControlClient.path("v1", "jobs"),
          query: query + [URLQueryItem(name: "descriptors", value: names)], sending: document.body,
          greet: { connection in
            // With an empty line, which the daemon skips.
            isPassed = (try? DescriptorSocket.send(Data("\r\n".utf8), descriptors: numbers, over: connection)) != nil
            return isPassed
          }, timeout: timeout)
      }
    } catch {
      // A form tells what keeps one from the daemon.
      if !isPassed { return nil }
      throw error
    }
    // The reply to a form is the one that counts, also from a daemon that knows no open files.
    return reply.status == 400 ? nil : reply
  }

  /// The job file with the files that its jobs name, as they are now.
  ///
  /// - Throws: if one can't be read, or the job file is one of lines.
  func form(with document: JobFileInput) throws(ToolError) -> ControlClient.Body {
    guard case .json(let document) = document.body else {
      throw ToolError(.usage, "--input goes with a job file that is one document, not with one of lines")
    }
    let boundary = "bobbinctl-" + UUID().uuidString
    var parts: [FormPart] = [FormPart.text("--\(boundary)\r\nContent-Disposition: form-data; name=\"job\"\r\n\r\n")]
    parts.append(FormPart.data(document))
    for (name, file) in try opened() {
      parts.append(
        FormPart.text(
          "\r\n--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"\(name)\"\r\n\r\n"))
      do throws(SystemError) { parts.append(.file(file, size: try file.size)) } catch {
        throw ToolError(.unreadableFile, "the input \(name) can't be sent: \(error.code)")
      }
    }
    parts.append(FormPart.text("\r\n--\(boundary)--\r\n"))
    var rest = parts[...]
    let size = parts.reduce(Int64(0)) { $0 + $1.size }
    return .form(boundary: boundary, size: size) { buffer in
      var filled = 0
      while filled < buffer.count, var part = rest.popFirst() {
        let count = part.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
        filled += count
        // One that has become shorter ends the request, which is then incomplete.
        if part.size > 0 {
          if count == 0 { return filled }
          rest = [part] + rest
        }
      }
      return filled
    }
  }
}

/// A piece of a form, as far as it is not sent yet.
private enum FormPart {
  case data(Data)
  case file(OpenFile, size: Int64)

  static func text(_ text: String) -> FormPart { .data(Data(text.utf8)) }

  var size: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(_, let size): size
    }
  }

  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    switch self {
    case .data(let data):
      let count = data.copyBytes(to: buffer)
      self = .data(Data(data.dropFirst(count)))
      return count
    case .file(let file, let size):
      let count = file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: size))))
      self = .file(file, size: size - Int64(count))
      return count
    }
  }
}
