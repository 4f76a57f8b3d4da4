/// One picture to be decoded once and encoded into one or more files.
///
/// The files travel beside the request as descriptors: the input first, then those of each output, in order.
package struct ImageRequest: Codable, Sendable, Equatable {
  /// The most files of one request: with the input, as many descriptors as one message carries.
  package static let maximumFiles = 31

  /// The pictures to be made.
  package var outputs: [ImageOutput]
  /// The input formats accepted; every other decoder stays blocked.
  package var allow: [ImageFormat]
  /// The limits of the picture.
  package var limits: ImageLimits
  /// True if the picture is turned as its orientation tag says.
  package var isTurned: Bool
  /// The faults of an input that make the request fail.
  package var failOn: ImageFailOn
  /// True if a placeholder is wanted, too.
  package var wantsPlaceholder: Bool
  /// True if the last file of each output is one to keep, which takes nothing that was made before.
  package var keepsFiles: Bool

  package init(
    outputs: [ImageOutput], allow: [ImageFormat] = ImageFormat.allowedByDefault, limits: ImageLimits = ImageLimits(),
    isTurned: Bool = true, failOn: ImageFailOn = .error, wantsPlaceholder: Bool = false, keepsFiles: Bool = false
  ) {
    self.outputs = outputs
    self.allow = allow
    self.limits = limits
    self.isTurned = isTurned
    self.failOn = failOn
    self.wantsPlaceholder = wantsPlaceholder
    self.keepsFiles = keepsFiles
  }

  /// The number of files of all outputs.
  package var fileCount: Int { outputs.reduce(0) { $0 + $1.fileCount } }

  /// Checks everything that can be known without the picture.
  ///
  /// - Throws: `ImageError` with the code `invalidRequest`, naming the output by its position from 1 and the key.
  package func validate() throws(ImageError) {
    for (index, output) in outputs.enumerated() {
      if let problem = output.problem { throw .invalidRequest("output \(index + 1): \(problem)") }
    }
    guard fileCount <= Self.maximumFiles else {
      throw .invalidRequest("\(fileCount) files were asked for; give at most \(Self.maximumFiles)")
    }
    guard !allow.isEmpty else { throw .invalidRequest("no input format is allowed; name at least one") }
    let limitsArePositive =
      limits.maxPixels > 0 && limits.maxBytes > 0 && limits.maxPages > 0 && limits.processorSeconds > 0
    guard limitsArePositive else { throw .invalidRequest("every limit must be above zero") }
  }
}

/// The limits of a picture; all but the processor time are checked from the header, before a pixel is decoded.
package struct ImageLimits: Codable, Sendable, Equatable {
  /// The most pixels of an input or an output: width x height x pages.
  package var maxPixels: Int
  /// The largest input file in bytes.
  package var maxBytes: Int
  /// The most pages or frames of an input.
  package var maxPages: Int
  /// The most bytes that packed texts and profiles of an input may unpack to.
  package var textBytes: Int
  /// The processor time of one request in seconds; the kernel ends the helper that exceeds it.
  package var processorSeconds: Int

  package init(
    maxPixels: Int = 200_000_000, maxBytes: Int = 512 << 20, maxPages: Int = 256,
    textBytes: Int = 16 << 20, processorSeconds: Int = 120
  ) {
    self.maxPixels = maxPixels
    self.maxBytes = maxBytes
    self.maxPages = maxPages
    self.textBytes = textBytes
    self.processorSeconds = processorSeconds
  }
}

/// The faults of an input that make the request fail.
package enum ImageFailOn: String, Codable, Sendable, CaseIterable {
  /// Only what leaves nothing to decode: what is missing becomes grey or black.
  case none
  /// Faults that may have cost pixels: a truncated or damaged picture.
  case error
  /// Also what costs none, such as stray bytes between the parts of a file.
  case warning
}
