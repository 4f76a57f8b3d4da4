internal import CVIPS
internal import ImageProtocol

extension Picture {
  /// Keeps of the metadata only what is wanted.
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

  /// Whether there is something that EXIF data has to tell.
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
