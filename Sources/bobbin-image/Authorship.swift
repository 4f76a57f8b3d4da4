import CVIPS
import ImageProtocol

/// A picture's author and copyright, byte for byte as in its EXIF data or its TIFF directory.
///
/// libvips's own strings are made for display: they name roles, and leave out what is not ASCII.
struct Authorship {
  /// A picture of one pixel that has no metadata but this.
  ///
  /// An encoder writes a text as it is in the EXIF data only if the picture's field is what libvips makes of that text for
  /// display. So libvips is asked for the field.
  private let carrier: Picture

  /// - Parameters:
  ///   - header: the picture, which has its EXIF data.
  ///   - descriptor: its file.
  init?(_ header: Picture, _ format: ImageFormat, descriptor: Int32) throws(ImageError) {
    let directory: TIFFDirectory?
    if let exif = header.blob("exif-data") {
      let data = exif.starts(with: EXIFData.signature) ? exif.dropFirst(EXIFData.signature.count) : exif[...]
      directory = TIFFDirectory { offset, count in
        offset + count <= data.count ? Array(data.dropFirst(offset).prefix(count)) : nil
      }
    } else if format == .tiff {
      directory = TIFFDirectory { offset, count in FileBytes.read(descriptor, at: offset, count: count) }
    } else {
      directory = nil
    }
    let texts = [EXIFData.artist, EXIFData.copyright].compactMap { tag in
      directory?.text(tag).map { (tag: tag, text: $0) }
    }
    if texts.isEmpty { return nil }
    carrier = try Self.onePixel(with: EXIFData(texts).bytes)
  }

  /// Replaces the EXIF data of a picture that is not shared.
  func attach(to picture: Picture) {
    for field in ["exif-data", "exif-ifd0-Artist", "exif-ifd0-Copyright"] {
      vips_image_remove(picture.image, field)
      var value = GValue()
      guard vips_image_get_typeof(carrier.image, field) != 0, vips_image_get(carrier.image, field, &value) == 0
      else { continue }
      vips_image_set(picture.image, field, &value)
      g_value_unset(&value)
    }
  }

  private static func onePixel(with exif: [UInt8]) throws(ImageError) -> Picture {
    let black = try VipsCall("black")
    try black.set("width", "1")
    try black.set("height", "1")
    let target = try EncodingTarget.inMemory()
    var save = try VipsCall("VipsForeignSaveJpegTarget")
    save.set("in", try black.makeImage().reference)
    save.set("target", target.reference)
    try save.set("strip", "true")
    try save.run()
    var bytes = target.withBytes { Array($0) }
    let length = exif.count + 2
    bytes.insert(contentsOf: [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + exif, at: 2)
    guard let blob = vips_blob_copy(bytes, bytes.count) else { throw VipsLibrary.drainFailure() }
    defer { vips_area_unref(UnsafeMutableRawPointer(blob).assumingMemoryBound(to: VipsArea.self)) }
    guard let source = vips_source_new_from_blob(blob) else { throw VipsLibrary.drainFailure() }
    let load = try VipsCall(ImageFormat.jpeg.loaderClass)
    load.set("source", VipsObjectReference(owning: source))
    return try load.makeImage()
  }
}

/// EXIF data that has some texts and nothing else.
struct EXIFData {
  /// The bytes at the beginning of EXIF data in most files.
  static let signature = Array("Exif\0\0".utf8)
  static let artist = 0x13B
  static let copyright = 0x8298

  let bytes: [UInt8]

  /// - Parameter texts: in the order of their tags, without a zero at the end.
  init(_ texts: [(tag: Int, text: [UInt8])]) {
    var directory = Self.bytes(texts.count, 2)
    var values: [UInt8] = []
    let valuesStart = 8 + 2 + texts.count * 12 + 4
    for (tag, text) in texts {
      let text = text + [0]
      directory += Self.bytes(tag, 2) + Self.bytes(2, 2) + Self.bytes(text.count, 4)
      if text.count <= 4 {
        directory += text + [UInt8](repeating: 0, count: 4 - text.count)
      } else {
        directory += Self.bytes(valuesStart + values.count, 4)
        values += text
      }
    }
    bytes = Self.signature + Array("II*\0".utf8) + Self.bytes(8, 4) + directory + Self.bytes(0, 4) + values
  }

  private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}

extension Picture {
  /// Returns the picture with only the wanted metadata.
  ///
  /// Encoders have an option for nothing and one for all, but WebP's takes no notice of it in libvips 8.14.
  ///
  /// - Parameters:
  ///   - format: what the picture becomes.
  ///   - hasProfile: whether the profile, if there is one, is of use.
  ///   - authorship: what there is to be kept as copyright.
  func keeping(
    _ metadata: [ImageMetadata], in format: ImageFormat, hasProfile: Bool = true, _ authorship: Authorship? = nil
  ) throws(ImageError) -> Picture {
    let copy = try VipsCall.copy(of: self)
    // It shows the input, with all that was cut away.
    vips_image_remove(copy.image, "jpeg-thumbnail-data")
    if !hasProfile { vips_image_remove(copy.image, "icc-profile-data") }
    if metadata.contains(.all) {
      // A TIFF file's own texts.
      if copy.blob("exif-data") == nil { authorship?.attach(to: copy) }
      // JPEG has it in another form than TIFF, and libvips 8.14 writes what it has read, cut short in TIFF.
      let isReadable = format == .jpeg && copy.blob("iptc-data")?.starts(with: "Photoshop".utf8) == true
      if !isReadable { vips_image_remove(copy.image, "iptc-data") }
      return copy
    }
    for field in copy.fields where !Self.isKept(field, metadata) { vips_image_remove(copy.image, field) }
    if metadata.contains(.copyright) { authorship?.attach(to: copy) }
    return copy
  }

  /// True if there is something that EXIF data has to tell.
  var hasEXIFData: Bool {
    vips_image_get_typeof(image, "exif-data") != 0 || vips_image_get_typeof(image, "orientation") != 0
  }

  private var fields: [String] {
    guard let names = vips_image_get_fields(image) else { return [] }
    defer { g_strfreev(names) }
    var fields: [String] = []
    var next = names
    while let name = next.pointee {
      fields.append(String(cString: name))
      next += 1
    }
    return fields
  }

  private static let otherFields = [
    "xmp-data", "iptc-data", "photoshop-data", "gif-comment", "orientation",
  ]

  private static func isKept(_ field: String, _ metadata: [ImageMetadata]) -> Bool {
    if field == "icc-profile-data" { return metadata.contains(.icc) }
    return !otherFields.contains(field)
      && !["exif-", "png-comment-", "magickprofile-"].contains(where: field.hasPrefix)
  }
}
