internal import CLinux
internal import CVIPS
internal import ImageProtocol

extension Picture {
  /// Keeps of the metadata only what is wanted.
  ///
  /// Encoders have an option for nothing and one for all, but WebP's takes no notice of it in libvips 8.14.
  func keeping(_ metadata: [ImageMetadata]) throws(ImageError) -> Picture {
    if metadata.contains(.all) { return self }
    let copy = try VipsCall.copy(of: self)
    for field in copy.fields where !Self.isKept(field, metadata) { vips_image_remove(copy.image, field) }
    if copy.fields.contains(where: Self.copyrightFields.contains) {
      // Some encoders merge the fields into EXIF data only where there are some.
      vips_image_set_blob_copy(copy.image, "exif-data", Self.emptyEXIF, Self.emptyEXIF.count)
    }
    return copy
  }

  /// Whether the colours are those of sRGB, by the profile or because there is none.
  var isInScreenProfile: Bool {
    guard vips_image_get_typeof(image, "icc-profile-data") != 0 else { return true }
    var start: UnsafeRawPointer?
    var count = 0
    guard vips_image_get_blob(image, "icc-profile-data", &start, &count) == 0 else { return false }
    // The description is ASCII in profiles of version 2, and UTF-16 in those of version 4.
    return ["sRGB", "s\0R\0G\0B"].contains { name in
      Array(name.utf8).withUnsafeBytes { memmem(start, count, $0.baseAddress, $0.count) != nil }
    }
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

  private static let copyrightFields = ["exif-ifd0-Copyright", "exif-ifd0-Artist"]
  private static let otherFields = [
    "xmp-data", "iptc-data", "photoshop-data", "gif-comment", "jpeg-thumbnail-data", "orientation",
  ]

  /// EXIF data whose first directory has no entries.
  private static let emptyEXIF = Array("Exif\0\0II*\0".utf8) + [8, 0, 0, 0, 0, 0, 0, 0, 0, 0]

  private static func isKept(_ field: String, _ metadata: [ImageMetadata]) -> Bool {
    if field == "icc-profile-data" { return metadata.contains(.icc) }
    if copyrightFields.contains(field) { return metadata.contains(.copyright) }
    return !otherFields.contains(field)
      && !["exif-", "png-comment-", "magickprofile-"].contains(where: field.hasPrefix)
  }
}
