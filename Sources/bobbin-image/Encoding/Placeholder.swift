internal import CVIPS
internal import FoundationEssentials
internal import ImageProtocol

/// What a page can show until a picture is there, made of a few of its pixels.
enum Placeholder {
  /// How the picture is made.
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
