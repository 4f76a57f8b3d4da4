internal import ImageProtocol

/// What a TIFF file says of its samples, as far as it tells whether libvips 8.14 takes them for what they are.
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

  /// Refuses what would come out in wrong colours.
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

  /// How many channels the colours of each kind take, by what the file calls photometric interpretation.
  private static let colours = [0: 1, 1: 1, 2: 3, 3: 1, inks: 4, luminance: 3, lab: 3, 32844: 1, 32845: 3]
  private static let unknownKinds = [
    4: "a mask", 9: "ICCLab colours", 10: "ITULab colours", 32803: "a camera's sensor", 34892: "a camera's sensor",
  ]
}
