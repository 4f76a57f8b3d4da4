/// What a helper asks before it decodes: it has read the header, and knows what the work will take.
package struct ImageQuestion: Codable, Sendable, Equatable {
  package var input: ImageReply.Input
  /// The most memory, in bytes, that decoding and encoding is going to take.
  package var memory: Int

  package init(input: ImageReply.Input, memory: Int) {
    self.input = input
    self.memory = memory
  }
}
