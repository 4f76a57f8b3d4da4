import CVIPS
import ImageProtocol

/// The decoding of the input for outputs that can share it.
struct Decoding {
  /// The properties that outputs must share to come from one decode.
  struct Kind: Hashable {
    /// True if all frames are wanted.
    let moves: Bool
    /// True if the colours are converted to those of sRGB.
    let convertsColours: Bool

    init(_ output: ImageOutput, of input: PictureInput) {
      moves = output.isAnimated && input.description.pages > 1 && input.description.format.canMove
      // Colours of other spaces have to be converted, since no output has them; going through another one loses a little.
      let mayStay =
        switch input.profile {
        case .none, .screen, .unusable: true
        case .usable: output.keepsColours
        }
      convertsColours = !(mayStay && input.header.isInScreenSpace)
    }
  }

  private let input: PictureInput
  private let kind: Kind
  private let isTurned: Bool

  init(_ input: PictureInput, _ kind: Kind, isTurned: Bool) {
    self.input = input
    self.kind = kind
    self.isTurned = isTurned
  }

  /// The frames of what comes out.
  var pages: Int { kind.moves ? input.description.pages : 1 }

  /// Decodes into memory at the largest scale any plan needs, at most the input's own, using the decoder's own reduction.
  func once(for plans: [ResizePlan]) throws(ImageError) -> Picture {
    let scale = plans.reduce(0) { max($0, $1.scale.horizontal, $1.scale.vertical) }
    let width = (Double(input.description.width) * min(1, scale)).rounded(.up)
    let call = try thumbnailCall(width: max(1, Int(width)), scale: scale)
    // The width alone decides: the height follows, rounded from a width that was rounded up.
    try call.set("height", "10000000")
    try call.set("size", "down")
    return try call.makeImage().inMemory()
  }

  /// The picture of a plan's size; its pixels are computed when they are written.
  ///
  /// - Parameter shared: what ``once(for:)`` gave; nil to decode for this plan alone.
  func picture(by plan: ResizePlan, from shared: Picture?) throws(ImageError) -> Picture {
    var call: VipsCall
    let cropsItself = plan.crop != nil && !kind.moves
    let width = cropsItself ? plan.width : plan.scaled.width
    if let shared {
      call = try VipsCall("thumbnail_image")
      call.set("in", shared.reference)
      try call.set("width", String(width))
      try call.set("no-rotate", String(!isTurned))
    } else {
      call = try thumbnailCall(width: width, scale: max(plan.scale.horizontal, plan.scale.vertical))
    }
    if cropsItself, let crop = plan.crop {
      try call.set("height", String(plan.height))
      try call.set("crop", crop.rawValue)
      try call.set("size", plan.scale.horizontal > 1 ? "both" : "down")
      return try call.makeImage()
    }
    try call.set("height", String(plan.scaled.height))
    try call.set("size", "force")
    let scaled = try call.makeImage()
    guard plan.crop != nil || plan.padding != nil else { return scaled }
    return try kind.moves ? mapFrames(scaled, plan) : finish(scaled, plan)
  }

  /// True if outputs may have the profile that their picture comes with.
  var keepsProfile: Bool {
    // What was prepared has that of sRGB.
    if case .unusable = input.profile { return input.header.isOfInks }
    return true
  }

  private func thumbnailCall(width: Int, scale: Double) throws(ImageError) -> VipsCall {
    let isOpened = input.description.format == .tiff || input.needsPreparation
    let call = try VipsCall(isOpened ? "thumbnail_image" : "thumbnail_source")
    if isOpened {
      var opened = try opened(scale: scale).prepared(intent: input.profile.intent)
      if input.canvasFrames.count >= pages { opened = try opened.onTransparentCanvas(input.canvasFrames, pages: pages) }
      call.set("in", opened.reference)
    } else {
      call.set("source", input.source)
      // Otherwise a truncated picture ends in grey instead of in an error. The call has a fail-on argument of its own,
      // which libvips 8.14 does not hand on to a decoder that reads from a source.
      try call.set("option-string", "[fail-on=\(VipsLibrary.failOn.rawValue)\(kind.moves ? ",n=-1" : "")]")
    }
    try call.set("width", String(width))
    try call.set("no-rotate", String(!isTurned))
    // What is of inks was converted when it was prepared.
    if kind.convertsColours, let intent = input.profile.intent, !input.header.isOfInks {
      try call.set("export-profile", "srgb")
      try call.set("intent", intent)
    }
    return call
  }

  /// The pages that are wanted; of a TIFF file, libvips would take one of half the size for a smaller version.
  ///
  /// - Parameter scale: how small it becomes, of which JPEG's decoder does a part, and leaves a half at least.
  private func opened(scale: Double) throws(ImageError) -> Picture {
    let call = try VipsCall(input.description.format.loaderClass)
    call.set("source", input.source)
    try call.set("access", "sequential")
    try call.set("fail-on", VipsLibrary.failOn.rawValue)
    if kind.moves { try call.set("n", "-1") }
    if input.description.format == .jpeg, let shrink = [8, 4, 2].first(where: { scale * Double(2 * $0) <= 1 }) {
      try call.set("shrink", String(shrink))
    }
    return try call.makeImage()
  }

  /// Cuts or pads a scaled picture to a plan's size.
  private func finish(_ picture: Picture, _ plan: ResizePlan) throws(ImageError) -> Picture {
    let size = (plan.width, plan.height)
    if let padding = plan.padding { return try picture.inScreenColours().padded(to: size, with: padding) }
    return try picture.cut(
      left: (picture.width - plan.width) / 2, top: (picture.height - plan.height) / 2, width: plan.width,
      height: plan.height)
  }

  private func mapFrames(_ picture: Picture, _ plan: ResizePlan) throws(ImageError) -> Picture {
    let decoded = try picture.inMemory()
    let height = decoded.height / pages
    var frames: [Picture] = []
    for page in 0..<pages {
      let frame = try decoded.cut(left: 0, top: page * height, width: decoded.width, height: height)
      frames.append(try finish(frame, plan))
    }
    return try Picture.stacked(frames)
  }
}

extension Picture {
  /// True if its colours are ones that outputs can have, as they are.
  fileprivate var isInScreenSpace: Bool {
    let spaces = [
      VIPS_INTERPRETATION_sRGB, VIPS_INTERPRETATION_RGB16, VIPS_INTERPRETATION_B_W, VIPS_INTERPRETATION_GREY16,
    ]
    return spaces.contains(vips_image_get_interpretation(image))
  }
}

/// One of the pictures that are made of an input.
struct Rendition {
  let plan: ResizePlan
  let kind: Decoding.Kind
  /// The output's place in the request; nil for the placeholder.
  let index: Int?

  init(_ output: ImageOutput, of input: PictureInput, index: Int?) {
    plan = ResizePlan(output, from: (input.description.width, input.description.height))
    kind = Decoding.Kind(output, of: input)
    self.index = index
  }
}
