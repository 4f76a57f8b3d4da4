import ImageProtocol

/// The exact size of an output, and how it is reached, from the input's displayed size.
struct ResizePlan {
  /// The size of the finished output; of one frame, if it moves.
  let width: Int
  let height: Int
  /// The size of the whole picture once it is scaled, before anything is cut off or added.
  let scaled: (width: Int, height: Int)
  /// The scale of the input, per side, before any cut; above 1 only if the output may be enlarged.
  let scale: (horizontal: Double, vertical: Double)
  /// The part that stays when the picture is cut; nil if it is not.
  let crop: ImageCrop?
  /// The colour around the picture; nil if there is no padding.
  let padding: ImageColour?

  init(_ output: ImageOutput, from input: (width: Int, height: Int)) {
    let horizontal = output.width.map { Double($0) / Double(input.width) }
    let vertical = output.height.map { Double($0) / Double(input.height) }
    let most = output.enlarge ? Double.infinity : 1
    let inside = min(horizontal ?? vertical ?? 1, vertical ?? horizontal ?? 1, most)
    let box = (output.width ?? input.width, output.height ?? input.height)
    switch (output.fit, horizontal, vertical) {
    case (.fill, let horizontal?, let vertical?):
      self.init(input, scale: (min(horizontal, most), min(vertical, most)))
    case (.cover, let horizontal?, let vertical?):
      let scale = min(max(horizontal, vertical), most)
      self.init(input, scale: (scale, scale), box: box, crop: output.crop ?? .centre)
    case (.pad, .some, .some):
      self.init(input, scale: (inside, inside), box: box, padding: output.background ?? .white)
    default:
      self.init(input, scale: (inside, inside))
    }
  }

  private init(
    _ input: (width: Int, height: Int), scale: (horizontal: Double, vertical: Double),
    box: (width: Int, height: Int)? = nil, crop: ImageCrop? = nil, padding: ImageColour? = nil
  ) {
    let width = max(1, Int((Double(input.width) * scale.horizontal).rounded()))
    let height = max(1, Int((Double(input.height) * scale.vertical).rounded()))
    let box = box ?? (width, height)
    scaled = (width, height)
    self.scale = scale
    self.width = crop == nil ? box.width : min(width, box.width)
    self.height = crop == nil ? box.height : min(height, box.height)
    self.crop = self.width < width || self.height < height ? crop : nil
    self.padding = self.width > width || self.height > height ? padding : nil
  }

  /// Throws for a size beyond the limits or the format's largest one.
  ///
  /// - Parameter pages: the frames of a moving picture, otherwise 1.
  func check(_ format: ImageFormat, limits: ImageLimits, pages: Int, position: Int) throws(ImageError) {
    let longest = format.longestWritableSide ?? 0
    guard max(width, height) <= longest else {
      throw ImageError(
        .tooLarge,
        "output \(position) would have \(width) x \(height) pixels; \(format.displayNameWithArticle) side "
          + "ends at \(longest)",
        permanent: true)
    }
    guard width <= limits.maxPixels / height / pages else {
      throw ImageError(
        .tooLarge, "output \(position) would have \(width) x \(height) pixels; the limit is \(limits.maxPixels) pixels",
        permanent: true)
    }
  }
}
