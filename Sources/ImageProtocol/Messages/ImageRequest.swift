/// One picture to be decoded once and encoded into one or more files.
///
/// The files travel beside the request as descriptors: the input first, then those of each output, in order.
package struct ImageRequest: Codable, Sendable, Equatable {
  /// The most files of one request: with the input, as many descriptors as one message carries.
  package static let maximumFiles = 31
  /// The longest side, in pixels, that a box may have.
  package static let longestSide = 1_000_000

  /// The pictures to be made.
  package var outputs: [ImageOutput]
  /// The input formats accepted; every other decoder stays blocked.
  package var allow: [ImageFormat]
  /// What the picture may cost.
  package var limits: ImageLimits
  /// Whether the picture is turned as its orientation tag says.
  package var isTurned: Bool
  /// What is wrong with an input that nothing is made of.
  package var failOn: ImageFailOn
  /// Whether a placeholder is wanted, too.
  package var wantsPlaceholder: Bool
  /// Whether the last file of each output is one to keep, which takes nothing that was made before.
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

  /// How many files the outputs have together.
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
