internal import Glibc

/// Where the frames of a GIF lie on its canvas.
///
/// Source: GIF89a, sections 18, 20 and 23.
struct GIFFrames {
  struct Frame {
    let left: Int
    let top: Int
    let width: Int
    let height: Int
    /// Whether the canvas is afterwards what it was before.
    let isTakenBack: Bool
  }

  let frames: [Frame]

  /// Reads what lies between the pixels of a file.
  ///
  /// - Parameter most: the frames that are wanted; what is behind them is not read.
  init(_ descriptor: Int32, most: Int) {
    var file = Reader(descriptor)
    var frames: [Frame] = []
    var isTakenBack = false
    guard let head = file.take(13) else {
      self.frames = []
      return
    }
    file.skip(Self.tableSize(head[10]))
    loop: while frames.count < most, let kind = file.take(1)?[0] {
      switch kind {
      case 0x21:
        let label = file.take(1)?[0]
        let first = file.takeBlock()
        if label == 0xF9, let flags = first.first { isTakenBack = flags >> 2 & 7 == 3 }
        if !first.isEmpty { file.skipBlocks() }
      case 0x2C:
        guard let place = file.take(9) else { break loop }
        let numbers = stride(from: 0, to: 8, by: 2).map { Int(place[$0]) | Int(place[$0 + 1]) << 8 }
        frames.append(
          Frame(left: numbers[0], top: numbers[1], width: numbers[2], height: numbers[3], isTakenBack: isTakenBack))
        isTakenBack = false
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

    mutating func take(_ count: Int) -> [UInt8]? {
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
    mutating func takeBlock() -> [UInt8] { take(1).flatMap { take(Int($0[0])) } ?? [] }

    mutating func skipBlocks() {
      while let count = take(1)?[0], count > 0 { skip(Int(count)) }
    }
  }
}
