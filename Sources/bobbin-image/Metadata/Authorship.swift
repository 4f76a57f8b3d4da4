internal import CVIPS
internal import ImageProtocol

/// Who made a picture and who owns it, byte for byte as its EXIF data or its TIFF directory says.
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
      directory = TIFFDirectory { offset, count in FileBytes.read(descriptor, offset, count) }
    } else {
      directory = nil
    }
    let texts = [EXIFData.artist, EXIFData.copyright].compactMap { tag in
      directory?.text(tag).map { (tag: tag, text: $0) }
    }
    if texts.isEmpty { return nil }
    carrier = try Self.onePixel(with: EXIFData(texts).bytes)
  }

  /// Gives this to a picture that is nobody else's, in place of the EXIF data that it has.
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
    guard let blob = vips_blob_copy(bytes, bytes.count) else { throw VipsLibrary.takeFailure() }
    defer { vips_area_unref(UnsafeMutableRawPointer(blob).assumingMemoryBound(to: VipsArea.self)) }
    guard let source = vips_source_new_from_blob(blob) else { throw VipsLibrary.takeFailure() }
    let load = try VipsCall(ImageFormat.jpeg.loaderClass)
    load.set("source", VipsObjectReference(owning: source))
    return try load.makeImage()
  }
}
