internal import ImageProtocol

/// The exact size of an output, and how it is reached, from the input's displayed size.
struct ResizePlan {
  /// The size of the finished output.
  let width: Int
  let height: Int
  /// Whether the scaled picture is cut to that size, from its centre, instead of being scaled to it exactly.
  let isCropped: Bool
  /// The scale of the input, per side, before any cut; above 1 only if the output may be enlarged.
  let scale: (horizontal: Double, vertical: Double)

  init(_ output: ImageOutput, from input: (width: Int, height: Int)) {
    let horizontal = output.width.map { Double($0) / Double(input.width) }
    let vertical = output.height.map { Double($0) / Double(input.height) }
    let most = output.enlarge ? Double.infinity : 1
    switch (output.fit, horizontal, vertical) {
    case (.fill, let horizontal?, let vertical?):
      self.init(input, scale: (min(horizontal, most), min(vertical, most)), crop: nil)
    case (.cover, let horizontal?, let vertical?):
      let scale = min(max(horizontal, vertical), most)
      self.init(input, scale: (scale, scale), crop: (output.width ?? input.width, output.height ?? input.height))
    default:
      let scale = min(horizontal ?? vertical ?? 1, vertical ?? horizontal ?? 1, most)
      self.init(input, scale: (scale, scale), crop: nil)
    }
  }

  private init(
    _ input: (width: Int, height: Int), scale: (horizontal: Double, vertical: Double), crop: (width: Int, height: Int)?
  ) {
    let width = max(1, Int((Double(input.width) * scale.horizontal).rounded()))
    let height = max(1, Int((Double(input.height) * scale.vertical).rounded()))
    self.width = min(width, crop?.width ?? width)
    self.height = min(height, crop?.height ?? height)
    self.isCropped = self.width < width || self.height < height
    self.scale = scale
  }

  /// Refuses a size that the limits or the format's files have no room for.
  func check(_ format: ImageFormat, limits: ImageLimits, position: Int) throws(ImageError) {
    let longest = format.longestWritableSide ?? 0
    guard max(width, height) <= longest else {
      throw ImageError(
        .tooLarge,
        "output \(position) would have \(width) x \(height) pixels; a \(format.displayName) side ends at \(longest)",
        permanent: true)
    }
    guard width <= limits.maxPixels / height else {
      throw ImageError(
        .tooLarge, "output \(position) would have \(width) x \(height) pixels; the limit is \(limits.maxPixels) pixels",
        permanent: true)
    }
  }
}
