import CVIPS
import ImageProtocol

/// An upper bound of the memory for making outputs, estimated from the input's header.
///
/// The bytes for each pixel were measured with libvips 8.14 and the libraries of Debian 12 on 12 to 100 megapixels of
/// colour gradients and of noise, and are rounded up. What streams from decoder to encoder takes next to nothing.
struct MemoryEstimate {
  private let input: PictureInput
  private let isTurned: Bool

  init(_ input: PictureInput, isTurned: Bool) {
    self.input = input
    self.isTurned = isTurned
  }

  /// - Returns: bytes, beyond what an idle helper has.
  func bytes(for renditions: [(rendition: Rendition, output: ImageOutput)]) -> Int {
    let groups = Dictionary(grouping: renditions) { $0.rendition.kind }
    // One group is decoded and encoded after the other.
    let most = groups.values.map { group in bytes(forGroup: group) }.max() ?? 0
    return Int(min(most, Double(Int.max / 2)))
  }

  private func bytes(forGroup group: [(rendition: Rendition, output: ImageOutput)]) -> Double {
    let pages = group.contains { $0.rendition.kind.moves } ? Double(input.description.pages) : 1
    let encoding = group.map { encodingBytes($0.output, $0.rendition.plan, pages: pages) }.max() ?? 0
    let scale = group.reduce(0) {
      max($0, $1.rendition.plan.scale.horizontal, $1.rendition.plan.scale.vertical)
    }
    let decoded = pixels * min(1, scale * scale) * pixelBytes * pages
    // Several outputs share the decoded pixels, and turning needs all of them, too.
    let isShared = group.count > 1 || pages > 1
    let isHeld = isShared || isTurned && vips_image_get_orientation(input.header.image) > 1
    return lines + decodingBytes(scale: scale, pages: pages) + (isHeld ? decoded : 0) + encoding
  }

  private var pixels: Double { Double(input.header.width) * Double(input.header.height) }
  private var pixelBytes: Double { Double(max(3, input.header.pixelBytes)) }

  /// Lines of pixels on their way.
  private var lines: Double { 16_000_000 + Double(input.header.width) * pixelBytes * 256 }

  private func decodingBytes(scale: Double, pages: Double) -> Double {
    switch input.description.format {
    case .jpeg: input.header.isInterlaced ? pixels * (input.header.hasHalvedColours ? 3.5 : 6.5) : 0
    case .png: input.header.isInterlaced ? pixels * (pixelBytes + 0.5) : 0
    case .webp: pixels * (scale >= 1 ? 8 : 5.5)
    case .avif, .heif: pixels * pixelBytes * 3.5
    case .gif: pixels * 6
    // Its strips may be as high as the picture.
    case .tiff: pixels * pixelBytes
    case .svg, .pdf, .jp2, .jxl, .ppm: pixels * pixelBytes * 3
    }
  }

  private func encodingBytes(_ output: ImageOutput, _ plan: ResizePlan, pages: Double) -> Double {
    let size = Double(plan.width) * Double(plan.height)
    let perPixel: Double =
      switch output.format {
      case .jpeg: output.chosenQuality >= 90 ? 6.5 : 3.5
      case .png: output.hasPalette ? 5.5 : output.isProgressive ? 4.5 : 0.5
      case .webp: output.isLossless ? 22 : 5.5
      case .avif: output.isLossless ? 35 : 24
      case .heif: output.isLossless ? 35 : 20
      case .gif: 16
      case .tiff: 0.5
      case .svg, .pdf, .jp2, .jxl, .ppm: 0
      }
    // WebP's encoder keeps what it is going to write, which is the more the less the picture could be compressed.
    let detail = output.format == .webp ? min(size * 14, Double(input.description.bytes) * 24) : 0
    let search = output.maxBytes == nil ? 0 : 6.0
    // What is cut, or moves and is changed frame by frame, is kept as it was scaled.
    let isKept = plan.crop != nil || pages > 1 && plan.padding != nil
    let scaled = isKept ? Double(plan.scaled.width) * Double(plan.scaled.height) * pixelBytes * pages : 0
    // Frames of a moving picture are encoded one by one, but all of them wait.
    return size * perPixel + detail + size * pages * search + (pages > 1 ? size * pages * 8 : 0) + scaled
  }
}
