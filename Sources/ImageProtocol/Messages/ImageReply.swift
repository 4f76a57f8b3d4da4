/// What the helper found and made; every output is written and synced when this arrives.
package struct ImageReply: Codable, Sendable, Equatable {
  /// The picture read.
  package struct Input: Codable, Sendable, Equatable {
    package var format: ImageFormat
    /// Width in pixels as displayed, after the orientation tag is applied.
    package var width: Int
    /// Height in pixels as displayed, after the orientation tag is applied.
    package var height: Int
    /// Pages or frames in the file; outputs show the first.
    package var pages: Int
    /// The size of the file.
    package var bytes: Int

    package init(format: ImageFormat, width: Int, height: Int, pages: Int, bytes: Int) {
      self.format = format
      self.width = width
      self.height = height
      self.pages = pages
      self.bytes = bytes
    }
  }

  /// A file written.
  package struct Output: Codable, Sendable, Equatable {
    package var format: ImageFormat
    package var width: Int
    package var height: Int
    package var bytes: Int

    package init(format: ImageFormat, width: Int, height: Int, bytes: Int) {
      self.format = format
      self.width = width
      self.height = height
      self.bytes = bytes
    }
  }

  package var input: Input
  /// One for each output of the request, in its order.
  package var outputs: [Output]

  package init(input: Input, outputs: [Output]) {
    self.input = input
    self.outputs = outputs
  }
}
