import CVIPS
import FoundationEssentials
import ImageProtocol

/// Makes all outputs of a request from as few decodes of its input as there can be: usually one.
struct PictureEncoder {
  let request: ImageRequest
  let input: PictureInput
  private let renditions: [Rendition]

  /// Reads the header of the input and refuses what can be refused by now; decodes nothing.
  ///
  /// - Parameters:
  ///   - descriptor: open for reading.
  ///   - sha256: the input's hash, if it is known already.
  ///   - made: the outputs that are there already.
  init(
    _ request: ImageRequest, input descriptor: Int32, sha256: String? = nil, sparing made: Set<Int> = []
  ) throws(ImageError) {
    try request.validate()
    VipsLibrary.failOn = request.failOn
    self.request = request
    input = try PictureInput(descriptor: descriptor, for: request, sha256: sha256)
    var renditions: [Rendition] = []
    for (index, output) in request.outputs.enumerated() where !made.contains(index) {
      let rendition = Rendition(output, of: input, index: index)
      let pages = rendition.kind.moves ? input.description.pages : 1
      try rendition.plan.check(output.format, limits: request.limits, pages: pages, position: index + 1)
      renditions.append(rendition)
    }
    if request.wantsPlaceholder { renditions.append(Rendition(Placeholder.output, of: input, index: nil)) }
    self.renditions = renditions
  }

  /// An upper bound of the memory that ``encode(to:didMake:)`` takes, in bytes.
  var memoryEstimate: Int {
    MemoryEstimate(input, isTurned: request.isTurned).bytes(for: renditions.map { ($0, request.output(of: $0)) })
  }

  /// Decodes, resizes and encodes.
  ///
  /// - Parameters:
  ///   - files: empty files open for reading and writing, some for each output; after an error they may hold parts.
  ///   - didMake: called after each output but the last with the number of those that are there.
  func encode(
    to files: [[Int32]], didMake: (Int) throws(ImageError) -> Void
  ) throws(ImageError) -> ImageReply {
    var made = request.outputs.count - renditions.count { $0.index != nil }
    var outputs = [ImageReply.Output?](repeating: nil, count: request.outputs.count)
    var placeholder: ImageReply.Placeholder?
    for kind in Set(renditions.map(\.kind)) {
      let group = renditions.filter { $0.kind == kind }
      let decoding = Decoding(input, kind, isTurned: request.isTurned)
      // One output streams from decoder to encoder; for several, the largest size needed is decoded once into memory.
      let shared = group.count > 1 ? try decoding.once(for: group.map(\.plan)) : nil
      for rendition in group {
        let picture = try decoding.picture(by: rendition.plan, from: shared)
        if let index = rendition.index {
          let writer = OutputWriter(
            output: request.outputs[index], position: index + 1, pages: decoding.pages, authorship: input.authorship,
            hasProfile: decoding.keepsProfile)
          outputs[index] = try writer.write(picture, to: files[index])
          made += 1
          if made < request.outputs.count { try didMake(made) }
        } else {
          placeholder = try Placeholder.make(of: picture)
        }
      }
    }
    return ImageReply(input: input.description, outputs: outputs.compactMap { $0 }, placeholder: placeholder)
  }
}

extension ImageRequest {
  fileprivate func output(of rendition: Rendition) -> ImageOutput {
    rendition.index.map { outputs[$0] } ?? Placeholder.output
  }
}

/// A placeholder that a page can show until a picture is loaded, made of a few of its pixels.
enum Placeholder {
  /// The picture of the placeholder.
  static let output = ImageOutput(format: .webp, width: 16, height: 16, quality: 50)

  static func make(of picture: Picture) throws(ImageError) -> ImageReply.Placeholder {
    let small = try picture.inScreenColours().keeping([], in: output.format).inMemory()
    let target = try EncodingTarget.inMemory()
    var call = try VipsCall("VipsForeignSaveWebpTarget")
    call.set("in", small.reference)
    call.set("target", target.reference)
    try call.set("Q", String(output.chosenQuality))
    try call.set("strip", "true")
    try call.run()
    let data = Data(WebPFile.withoutEXIF(target.withBytes { Array($0) })).base64EncodedString()
    return ImageReply.Placeholder(picture: "data:image/webp;base64," + data, colour: try average(of: small))
  }

  private static func average(of picture: Picture) throws(ImageError) -> ImageColour {
    let call = try VipsCall("thumbnail_image")
    call.set("in", picture.reference)
    try call.set("width", "1")
    try call.set("height", "1")
    try call.set("size", "force")
    try call.set("no-rotate", "true")
    let pixel = try call.makeImage().inScreenColours()
    let bytes = try pixel.bytes()
    let colours = pixel.isGrey ? [0, 0, 0] : [0, 1, 2]
    guard bytes.count >= pixel.bands, pixel.bands > (colours.last ?? 0) else {
      throw ImageError(.damaged, "the picture has no average colour", permanent: true)
    }
    return ImageColour(
      red: bytes[colours[0]], green: bytes[colours[1]], blue: bytes[colours[2]],
      alpha: pixel.hasAlpha ? bytes[pixel.bands - 1] : 255)
  }
}
