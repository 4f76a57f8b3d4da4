internal import CVIPS
internal import ImageProtocol

/// What libvips 8.14 does not tell of a GIF without a transparent colour: the canvas is seen where no frame has been.
extension Picture {
  /// Whether the first frame leaves a part of the canvas free.
  func showsCanvas(around frames: [GIFFrames.Frame]) -> Bool {
    guard !hasAlpha, let first = frames.first else { return false }
    return first.left > 0 || first.top > 0 || first.left + first.width < width || first.top + first.height < height
  }

  /// The picture, transparent where its frames have not been drawn so far.
  ///
  /// - Parameter pages: how many pictures lie one below the other.
  func onTransparentCanvas(_ frames: [GIFFrames.Frame], pages: Int) throws(ImageError) -> Picture {
    let height = height / pages
    var covered: Picture?
    var masks: [Picture] = []
    for frame in frames.prefix(pages) {
      var mask = try Self.rectangle(frame, on: (width, height))
      if let covered {
        let call = try VipsCall("boolean")
        call.set("left", covered.reference)
        call.set("right", mask.reference)
        try call.set("boolean", "or")
        mask = try call.makeImage()
      }
      mask = try mask.inMemory()
      masks.append(mask)
      if !frame.isTakenBack { covered = mask }
    }
    let call = try VipsCall("bandjoin")
    call.set("in", [self, masks.count == 1 ? masks[0] : try Self.stacked(masks)])
    return try call.makeImage()
  }

  /// White where a frame is, and black around it.
  private static func rectangle(
    _ frame: GIFFrames.Frame, on canvas: (width: Int, height: Int)
  ) throws(ImageError) -> Picture {
    let black = try VipsCall("black")
    try black.set("width", String(max(1, frame.width)))
    try black.set("height", String(max(1, frame.height)))
    let invert = try VipsCall("invert")
    invert.set("in", try black.makeImage().reference)
    let embed = try VipsCall("embed")
    embed.set("in", try invert.makeImage().reference)
    for (name, value) in [("x", frame.left), ("y", frame.top), ("width", canvas.width), ("height", canvas.height)] {
      try embed.set(name, String(value))
    }
    return try embed.makeImage()
  }
}
