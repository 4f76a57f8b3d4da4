/// The helper's reply; every output is written when it arrives, and not yet synced to the disk.
package struct ImageReply: Codable, Sendable, Equatable {
  /// The picture read.
  package struct Input: Codable, Sendable, Equatable {
    package var format: ImageFormat
    /// Width in pixels as displayed, after the orientation tag is applied.
    package var width: Int
    /// Height in pixels as displayed, after the orientation tag is applied.
    package var height: Int
    /// Pages or frames in the file; outputs show the first unless they are animated.
    package var pages: Int
    /// The size of the file.
    package var bytes: Int
    /// The SHA-256 of the file, in 64 digits of base 16.
    package var sha256: String
    /// A fault of the file that is no reason to refuse it.
    package var note: String?

    package init(
      format: ImageFormat, width: Int, height: Int, pages: Int, bytes: Int, sha256: String, note: String? = nil
    ) {
      self.format = format
      self.width = width
      self.height = height
      self.pages = pages
      self.bytes = bytes
      self.sha256 = sha256
      self.note = note
    }
  }

  /// A picture written.
  package struct Output: Codable, Sendable, Equatable {
    package var format: ImageFormat
    package var width: Int
    package var height: Int
    /// The frames of a moving picture, otherwise 1.
    package var pages: Int
    package var bytes: Int
    package var sha256: String
    /// The quality that a search for a size has ended at.
    package var quality: Int?

    package init(
      format: ImageFormat, width: Int, height: Int, pages: Int = 1, bytes: Int, sha256: String, quality: Int? = nil
    ) {
      self.format = format
      self.width = width
      self.height = height
      self.pages = pages
      self.bytes = bytes
      self.sha256 = sha256
      self.quality = quality
    }
  }

  /// A stand-in that a page can show until a picture is loaded.
  package struct Placeholder: Codable, Sendable, Equatable {
    /// A WebP picture of at most 16 x 16 pixels as a URI with its data.
    package var picture: String
    /// The average colour.
    package var colour: ImageColour

    package init(picture: String, colour: ImageColour) {
      self.picture = picture
      self.colour = colour
    }
  }

  package var input: Input
  /// One for each output of the request, in its order.
  package var outputs: [Output]
  package var placeholder: Placeholder?
  /// The outputs that were made before, for other requests, by their places.
  package var reused: [Int] = []
  /// True if nothing was made for this request.
  package var isReused = false

  package init(input: Input, outputs: [Output], placeholder: Placeholder? = nil) {
    self.input = input
    self.outputs = outputs
    self.placeholder = placeholder
  }
}
