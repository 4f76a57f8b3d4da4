/// What a picture may cost; all but the processor time is checked from the header, before a pixel is decoded.
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
