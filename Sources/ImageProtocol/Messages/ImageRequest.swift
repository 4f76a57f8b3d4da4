/// One picture to be decoded once and encoded into one or more files.
///
/// The files travel beside the request as descriptors: the input first, then one for each output, in order.
package struct ImageRequest: Codable, Sendable, Equatable {
  /// The most outputs of one request: with the input, as many descriptors as one message carries.
  package static let maximumOutputs = 31
  /// The longest side, in pixels, that a box may have.
  package static let longestSide = 1_000_000

  /// The files to be made.
  package var outputs: [ImageOutput]
  /// The input formats accepted; every other decoder stays blocked.
  package var allow: [ImageFormat]
  /// What the picture may cost.
  package var limits: ImageLimits

  package init(
    outputs: [ImageOutput], allow: [ImageFormat] = ImageFormat.allowedByDefault, limits: ImageLimits = ImageLimits()
  ) {
    self.outputs = outputs
    self.allow = allow
    self.limits = limits
  }

  /// Checks everything that can be known without the picture.
  ///
  /// - Throws: `ImageError` with the code `invalidRequest`, naming the output by its position from 1 and the key.
  package func validate() throws(ImageError) {
    guard !outputs.isEmpty, outputs.count <= Self.maximumOutputs else {
      throw .invalidRequest("\(outputs.count) outputs were asked for; give 1 to \(Self.maximumOutputs)")
    }
    guard !allow.isEmpty else { throw .invalidRequest("no input format is allowed; name at least one") }
    let limitsArePositive =
      limits.maxPixels > 0 && limits.maxBytes > 0 && limits.maxPages > 0 && limits.processorSeconds > 0
    guard limitsArePositive else { throw .invalidRequest("every limit must be above zero") }
    for (index, output) in outputs.enumerated() {
      if let problem = output.problem { throw .invalidRequest("output \(index + 1): \(problem)") }
    }
  }
}

extension ImageOutput {
  /// What is wrong with this output whatever the input, or nil.
  fileprivate var problem: String? {
    guard format.longestWritableSide != nil else {
      return "format \"\(format.rawValue)\" can't be written; use jpeg, png or webp"
    }
    for (key, side) in [("width", width), ("height", height)] {
      if let side, !(1...ImageRequest.longestSide).contains(side) {
        return "\(key) is \(side); it must lie between 1 and \(ImageRequest.longestSide)"
      }
    }
    if fit != .inside && (width == nil || height == nil) {
      return "fit \"\(fit.rawValue)\" needs both width and height"
    }
    guard let quality else { return nil }
    guard format != .png else { return "quality has no meaning for PNG, which is lossless; leave it out" }
    return (1...100).contains(quality) ? nil : "quality is \(quality); it must lie between 1 and 100"
  }
}
