import FoundationEssentials

/// The datagrams between daemon and helper: one JSON object each, with the protocol's version and the request's number.
///
/// A new optional key needs no new version; a key that changes its meaning or disappears does.
package enum ImageMessage {
  /// The version of the protocol spoken here.
  package static let version = 3
  /// The longest datagram in bytes; a request of 31 outputs takes about 5 kB.
  package static let maximumBytes = 64 << 10

  /// A request with its number; the descriptors travel beside it.
  package struct Request: Codable, Sendable {
    package var version = ImageMessage.version
    package var number: UInt64
    package var request: ImageRequest
    /// The most memory, in bytes, that the helper may use without asking; -1 to be asked in any case.
    package var freeMemory: Int
    /// True if each output is to be told of when it is made; helpers of older releases don't know the key.
    package var tellsProgress: Bool?

    package init(number: UInt64, request: ImageRequest, freeMemory: Int = .max, tellsProgress: Bool? = nil) {
      self.number = number
      self.request = request
      self.freeMemory = freeMemory
      self.tellsProgress = tellsProgress
    }
  }

  /// The answer to a question.
  package struct Permission: Codable, Sendable {
    package var version = ImageMessage.version
    package var number: UInt64
    /// The outputs that are to be copied from files that travel beside this, in this order, instead of being made.
    package var known: [Int]
    /// True if no placeholder has to be made.
    package var knowsPlaceholder: Bool

    package init(number: UInt64, known: [Int] = [], knowsPlaceholder: Bool = false) {
      self.number = number
      self.known = known
      self.knowsPlaceholder = knowsPlaceholder
    }
  }

  /// The answer to the request of the same number: a reply or an error, and before that a question and, if they are wanted,
  /// the numbers of outputs that are made.
  package struct Answer: Codable, Sendable {
    package var version = ImageMessage.version
    package var number: UInt64
    package var reply: ImageReply?
    package var error: ImageError?
    package var question: ImageQuestion?
    /// The number of outputs that are there by now.
    package var made: Int?
    /// True if an error came when the picture was being made already, so that the helper may not be as good as new.
    package var hasBegun: Bool?

    package init(number: UInt64, question: ImageQuestion) {
      self.number = number
      self.question = question
    }

    package init(number: UInt64, made: Int) {
      self.number = number
      self.made = made
    }

    package init(number: UInt64, result: Result<ImageReply, ImageError>) {
      self.number = number
      switch result {
      case .success(let reply): self.reply = reply
      case .failure(let error): self.error = error
      }
    }
  }

  /// The part of every message that never changes, so that a mismatch can be told.
  package struct Header: Codable, Sendable {
    package var version: Int
    package var number: UInt64
  }

  /// Encodes a message as one datagram.
  package static func encode(_ message: some Encodable) throws(ImageError) -> [UInt8] {
    do { return [UInt8](try JSONEncoder().encode(message)) } catch {
      throw .protocolMismatch("a message can't be encoded: \(error)")
    }
  }

  /// Decodes what tells the version and the number, in a message of any version.
  package static func header(of bytes: [UInt8]) throws(ImageError) -> Header {
    do { return try JSONDecoder().decode(Header.self, from: Data(bytes)) } catch {
      throw .protocolMismatch("the message is not of this protocol: \(error)")
    }
  }

  /// Decodes a datagram of this version.
  package static func decode<Message: Decodable>(_ type: Message.Type, from bytes: [UInt8]) throws(ImageError)
    -> Message
  {
    let header = try header(of: bytes)
    guard header.version == version else {
      throw .protocolMismatch(
        "daemon and helper speak versions \(version) and \(header.version) of their protocol; "
          + "install both from the same release and restart the daemon")
    }
    do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch {
      throw .protocolMismatch("the message can't be read: \(error)")
    }
  }
}

/// A helper's question before it decodes: it has read the header, and knows how much memory the work will take.
package struct ImageQuestion: Codable, Sendable, Equatable {
  package var input: ImageReply.Input
  /// The most memory, in bytes, that decoding and encoding is going to take.
  package var memory: Int

  package init(input: ImageReply.Input, memory: Int) {
    self.input = input
    self.memory = memory
  }
}

/// The arguments of a helper: the limits of its process and the place of its socket.
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
