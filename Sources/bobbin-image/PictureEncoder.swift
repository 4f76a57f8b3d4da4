internal import CVIPS
internal import Glibc
internal import ImageProtocol

/// Makes all outputs of a request from one decode of its input.
struct PictureEncoder {
  let request: ImageRequest

  /// Decodes, resizes, encodes, and syncs every output to the disk.
  ///
  /// - Parameters:
  ///   - input: Open for reading.
  ///   - outputs: Empty files open for writing, one for each output; after an error they may hold parts.
  func encode(input: Int32, outputs: [Int32]) throws(ImageError) -> ImageReply {
    try request.validate()
    guard outputs.count == request.outputs.count else {
      throw .invalidRequest("\(request.outputs.count) outputs came with \(outputs.count) files")
    }
    for (index, descriptor) in outputs.enumerated() { try Self.checkWritable(descriptor, position: index + 1) }

    let picture = try PictureInput(descriptor: input, allow: request.allow, limits: request.limits)
    let size = (picture.description.width, picture.description.height)
    let plans = request.outputs.map { ResizePlan($0, from: size) }
    for (index, plan) in plans.enumerated() {
      try plan.check(request.outputs[index].format, limits: request.limits, position: index + 1)
    }

    // One output streams from decoder to encoder; for several, the largest size needed is decoded once into memory.
    let shared = plans.count > 1 ? try Self.decodeOnce(picture, for: plans) : nil
    var written: [ImageReply.Output] = []
    for ((output, plan), descriptor) in zip(zip(request.outputs, plans), outputs) {
      let resized =
        if let shared { try Self.resize(shared, by: plan) } else { try Self.load(picture, by: plan) }
      written.append(try Self.write(resized, as: output, to: descriptor))
    }
    return ImageReply(input: picture.description, outputs: written)
  }

  private static func checkWritable(_ descriptor: Int32, position: Int) throws(ImageError) {
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
      throw ImageError(.output, "output \(position) is not open for writing", permanent: true)
    }
  }

  /// Decodes at the largest scale any plan needs, at most the input's own, using the decoder's own reduction.
  private static func decodeOnce(_ picture: PictureInput, for plans: [ResizePlan]) throws(ImageError) -> Picture {
    let scale = plans.reduce(0) { max($0, $1.scale.horizontal, $1.scale.vertical) }
    let width = (Double(picture.description.width) * min(1, scale)).rounded(.up)
    let call = try thumbnailCall(of: picture, width: max(1, Int(width)))
    // The width alone decides: the height follows, rounded from a width that was rounded up.
    try call.set("height", "10000000")
    try call.set("size", "down")
    vips_error_clear()
    let copy = try call.makeImage().inMemory()
    if VipsLibrary.hasNotedFailure { throw VipsLibrary.takeFailure() }
    return copy
  }

  private static func load(_ picture: PictureInput, by plan: ResizePlan) throws(ImageError) -> Picture {
    let call = try thumbnailCall(of: picture, width: plan.width)
    try plan.apply(to: call)
    return try call.makeImage()
  }

  private static func thumbnailCall(of picture: PictureInput, width: Int) throws(ImageError) -> VipsCall {
    let call = try VipsCall("thumbnail_source")
    call.set("source", picture.source)
    try call.set("width", String(width))
    // Without this a truncated picture ends in grey instead of in an error. The call has a fail-on argument of its own,
    // which libvips 8.14 does not hand on to a decoder that reads from a source.
    try call.set("option-string", "[fail-on=error]")
    try call.set("export-profile", "srgb")
    return call
  }

  private static func resize(_ picture: Picture, by plan: ResizePlan) throws(ImageError) -> Picture {
    let call = try VipsCall("thumbnail_image")
    call.set("in", picture.reference)
    try call.set("width", String(plan.width))
    try plan.apply(to: call)
    return try call.makeImage()
  }

  private static func write(
    _ picture: Picture, as output: ImageOutput, to descriptor: Int32
  ) throws(ImageError) -> ImageReply.Output {
    guard let saver = output.format.saver else {
      throw .invalidRequest("format \"\(output.format.rawValue)\" can't be written")
    }
    let picture = try picture.inScreenColours()
    do {
      guard let pointer = vips_target_new_to_descriptor(descriptor) else { throw VipsLibrary.takeFailure() }
      let target = VipsObjectReference(owning: pointer)
      var call = try VipsCall(saver.className)
      call.set("in", picture.reference)
      call.set("target", target)
      for (name, value) in saver.options { try call.set(name, value) }
      if saver.takesQuality { try call.set("Q", String(output.quality ?? 80)) }
      try call.set("strip", output.keepMetadata ? "false" : "true")
      vips_error_clear()
      try call.run()
      // A damaged strip at the very end is painted black and only noted here: nothing comes after it to fail.
      if VipsLibrary.hasNotedFailure { throw VipsLibrary.takeFailure() }
    }
    var status = stat()
    guard fsync(descriptor) == 0, fstat(descriptor, &status) == 0 else {
      let reason = String(cString: strerror(errno))
      throw ImageError(.output, "an output can't be synced to the disk: \(reason)", permanent: false)
    }
    return ImageReply.Output(
      format: output.format, width: picture.width, height: picture.height, bytes: status.st_size)
  }
}

extension ResizePlan {
  /// Tells a thumbnail call how to reach the plan's size.
  fileprivate func apply(to call: borrowing VipsCall) throws(ImageError) {
    try call.set("height", String(height))
    if isCropped {
      try call.set("crop", "centre")
      try call.set("size", scale.horizontal > 1 ? "both" : "down")
    } else {
      try call.set("size", "force")
    }
  }
}
