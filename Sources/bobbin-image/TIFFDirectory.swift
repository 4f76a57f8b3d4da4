import ImageProtocol

/// The first directory of a TIFF structure: that of a TIFF file, or of EXIF data, which has the same form.
///
/// Source: TIFF revision 6.0, section 2; for offsets of 64 bits, the BigTIFF design of libtiff.
struct TIFFDirectory {
  typealias Reader = (_ offset: Int, _ count: Int) -> [UInt8]?

  private let read: Reader
  private let isLittleEndian: Bool
  /// True if counts and offsets have 64 bits.
  private let isBig: Bool
  private let entries: [UInt8]

  /// - Parameter read: returns a number of bytes at an offset, or nil if there are fewer.
  init?(_ read: @escaping Reader) {
    guard let start = read(0, 8) else { return nil }
    let isLittleEndian: Bool
    let isBig: Bool
    switch start[0..<4] {
    case [0x49, 0x49, 42, 0]: (isLittleEndian, isBig) = (true, false)
    case [0x4D, 0x4D, 0, 42]: (isLittleEndian, isBig) = (false, false)
    case [0x49, 0x49, 43, 0]: (isLittleEndian, isBig) = (true, true)
    case [0x4D, 0x4D, 0, 43]: (isLittleEndian, isBig) = (false, true)
    default: return nil
    }
    self.read = read
    self.isLittleEndian = isLittleEndian
    self.isBig = isBig
    let width = isBig ? 8 : 2
    guard let first = isBig ? read(8, 8)?[...] : start[4..<8],
      let offset = Self.number(first, isLittleEndian), let counted = read(offset, width),
      let count = Self.number(counted[...], isLittleEndian), count <= 65_535,
      let entries = read(offset + width, count * (isBig ? 20 : 12))
    else { return nil }
    self.entries = entries
  }

  /// The bytes of a text, without the zero at its end; nil if there is none of a length that is not absurd.
  func text(_ tag: Int) -> [UInt8]? {
    guard let found = value(tag), found.type == 2, (1...Self.longestText).contains(found.count),
      var text = bytes(of: found, size: 1)
    else { return nil }
    while text.last == 0 { text.removeLast() }
    return text.isEmpty ? nil : text
  }

  /// Whole numbers of 16 or 32 bits; nil if there are none, or absurdly many.
  func numbers(_ tag: Int) -> [Int]? {
    guard let found = value(tag), let size = [3: 2, 4: 4][found.type], (1...Self.mostNumbers).contains(found.count),
      let bytes = bytes(of: found, size: size)
    else { return nil }
    return stride(from: 0, to: bytes.count, by: size).compactMap { Self.number(bytes[$0..<$0 + size], isLittleEndian) }
  }

  private static let longestText = 8 << 10
  private static let mostNumbers = 1 << 10

  private struct Entry {
    let type: Int
    let count: Int
    /// The place of the value in the entries, or of its offset.
    let place: Int
  }

  private func value(_ tag: Int) -> Entry? {
    let width = isBig ? 8 : 4
    for start in stride(from: 0, to: entries.count, by: isBig ? 20 : 12) where number(start, 2) == tag {
      guard let type = number(start + 2, 2), let count = number(start + 4, width) else { return nil }
      return Entry(type: type, count: count, place: start + 4 + width)
    }
    return nil
  }

  private func bytes(of entry: Entry, size: Int) -> [UInt8]? {
    let (count, width) = (entry.count * size, isBig ? 8 : 4)
    if count <= width { return Array(entries[entry.place..<entry.place + count]) }
    return number(entry.place, width).flatMap { read($0, count) }
  }

  private func number(_ position: Int, _ count: Int) -> Int? {
    Self.number(entries[position..<position + count], isLittleEndian)
  }

  /// Nil for what no file is large enough for.
  private static func number(_ bytes: ArraySlice<UInt8>, _ isLittleEndian: Bool) -> Int? {
    let ordered = isLittleEndian ? Array(bytes.reversed()) : Array(bytes)
    let number = ordered.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    return number < 1 << 62 ? Int(number) : nil
  }
}

/// The description of a TIFF file's samples, as far as it tells whether libvips 8.14 reads them correctly.
///
/// Source: TIFF revision 6.0, sections 8, 16, 19, 21 and 23; TIFF/EP for sensors; libtiff's own kinds.
struct TIFFSamples {
  private let kind: Int?
  private let compression: Int
  private let bits: Int
  private let form: Int
  private let channels: Int

  private enum Tag {
    static let (bits, compression, kind, channels, form) = (258, 259, 262, 277, 339)
  }
  private static let (inks, luminance, lab) = (5, 6, 8)

  init(_ directory: TIFFDirectory) {
    kind = directory.numbers(Tag.kind)?.first
    compression = directory.numbers(Tag.compression)?.first ?? 1
    bits = directory.numbers(Tag.bits)?.max() ?? 1
    form = directory.numbers(Tag.form)?.first ?? 1
    channels = directory.numbers(Tag.channels)?.first ?? 1
  }

  /// Throws for pictures that would be decoded with wrong colours.
  func check() throws(ImageError) {
    if let kind, let colours = Self.colours[kind], channels > colours + 1 {
      throw .tooManyChannels(channels, most: colours + 1)
    }
    guard let problem else { return }
    throw ImageError(.notAPicture, "the input is a TIFF picture \(problem)", permanent: true)
  }

  private var problem: String? {
    if let kind {
      if let name = Self.unknownKinds[kind] { return "of \(name), which is not read; convert it to RGB first" }
      guard let colours = Self.colours[kind] else { return "with colours of kind \(kind), which is not known" }
      if kind == Self.inks && channels < colours { return "with \(channels) inks; 4 are read, cyan to black" }
      if kind == Self.luminance && ![6, 7].contains(compression) {
        return "in YCbCr without JPEG compression, which is not read; convert it to RGB first"
      }
    }
    // CIELab has signed samples by its nature.
    switch form {
    case 2 where kind != Self.lab: return "with signed samples of \(bits) bits, which are not read"
    case 3 where bits != 32: return "with samples of \(bits) bits in floating point; those of 32 bits are read"
    case 3 where kind == Self.inks: return "with inks in floating point, which are not read"
    case 5, 6: return "with complex numbers, which are not read"
    case 1 where bits > 32: return "with samples of \(bits) bits; up to 32 are read"
    default: return nil
    }
  }

  /// The number of channels of each kind of colours, by the file's photometric interpretation.
  private static let colours = [0: 1, 1: 1, 2: 3, 3: 1, inks: 4, luminance: 3, lab: 3, 32844: 1, 32845: 3]
  private static let unknownKinds = [
    4: "a mask", 9: "ICCLab colours", 10: "ITULab colours", 32803: "a camera's sensor", 34892: "a camera's sensor",
  ]
}
