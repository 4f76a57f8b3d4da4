import CVIPS
import Glibc
import ImageProtocol

/// The places of a GIF's frames on its canvas.
///
/// Source: GIF89a, sections 18, 20 and 23.
struct GIFFrames {
  struct Frame {
    let left: Int
    let top: Int
    let width: Int
    let height: Int
    /// True if the canvas is afterwards what it was before.
    let restoresCanvas: Bool
  }

  let frames: [Frame]

  /// Reads what lies between the pixels of a file.
  ///
  /// - Parameter most: the number of wanted frames; later ones are not read.
  init(_ descriptor: Int32, most: Int) {
    var file = Reader(descriptor)
    var frames: [Frame] = []
    var restoresCanvas = false
    guard let head = file.read(13) else {
      self.frames = []
      return
    }
    file.skip(Self.tableSize(head[10]))
    loop: while frames.count < most, let kind = file.read(1)?[0] {
      switch kind {
      case 0x21:
        let label = file.read(1)?[0]
        let first = file.readBlock()
        if label == 0xF9, let flags = first.first { restoresCanvas = flags >> 2 & 7 == 3 }
        if !first.isEmpty { file.skipBlocks() }
      case 0x2C:
        guard let place = file.read(9) else { break loop }
        let numbers = stride(from: 0, to: 8, by: 2).map { Int(place[$0]) | Int(place[$0 + 1]) << 8 }
        frames.append(
          Frame(
            left: numbers[0], top: numbers[1], width: numbers[2], height: numbers[3], restoresCanvas: restoresCanvas))
        restoresCanvas = false
        // Behind a table of colours comes the first size of codes.
        file.skip(Self.tableSize(place[8]) + 1)
        file.skipBlocks()
      default: break loop
      }
    }
    self.frames = frames
  }

  private static func tableSize(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }

  /// A file that is read in order, some at a time.
  private struct Reader {
    private let descriptor: Int32
    private var offset = 0
    private var buffer: ArraySlice<UInt8> = []

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    mutating func read(_ count: Int) -> [UInt8]? {
      if buffer.count < count {
        let start = offset
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, used in
          used = max(0, pread(descriptor, buffer.baseAddress, buffer.count, off_t(start)))
        }
        buffer = bytes[...]
      }
      guard buffer.count >= count else { return nil }
      defer { skip(count) }
      return Array(buffer.prefix(count))
    }

    mutating func skip(_ count: Int) {
      offset += count
      buffer = buffer.dropFirst(count)
    }

    /// The bytes behind a byte that says how many they are; none at the end of several.
    mutating func readBlock() -> [UInt8] { read(1).flatMap { read(Int($0[0])) } ?? [] }

    mutating func skipBlocks() {
      while let count = read(1)?[0], count > 0 { skip(Int(count)) }
    }
  }
}

/// The canvas of a GIF without a transparent colour, which libvips 8.14 doesn't show: it is seen where no frame was
/// drawn.
extension Picture {
  /// True if the first frame leaves a part of the canvas free.
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
      if !frame.restoresCanvas { covered = mask }
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
