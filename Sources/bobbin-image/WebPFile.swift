import Glibc

/// Removes EXIF data from WebP files: libvips 8.14 puts some of its own into each, whatever its `strip` says.
///
/// Source: RFC 9649, section 2.
enum WebPFile {
  /// Returns the same file without EXIF data.
  static func withoutEXIF(_ bytes: [UInt8]) -> [UInt8] {
    let read = { (offset: Int, count: Int) in
      offset + count <= bytes.count ? Array(bytes[offset..<offset + count]) : nil
    }
    guard let exif = exifChunk(read), let head = head(read, dropping: exif.count) else { return bytes }
    return head + bytes[head.count..<exif.lowerBound] + bytes[exif.upperBound...]
  }

  /// Drops EXIF data in place, reading only the data after it.
  ///
  /// - Returns: false, with `errno`, if the file can't be changed.
  static func dropEXIF(from descriptor: Int32) -> Bool {
    let read = { (offset: Int, count: Int) in FileBytes.read(descriptor, at: offset, count: count) }
    let end = Int(lseek(descriptor, 0, SEEK_END))
    guard let exif = exifChunk(read), let head = head(read, dropping: exif.count),
      let rest = read(exif.upperBound, end - exif.upperBound)
    else { return true }
    return pwrite(descriptor, rest, rest.count, off_t(exif.lowerBound)) == rest.count
      && pwrite(descriptor, head, head.count, 0) == head.count
      && ftruncate(descriptor, off_t(end - exif.count)) == 0
  }

  /// Returns the range of the EXIF data, with its name and its size.
  private static func exifChunk(_ read: TIFFDirectory.Reader) -> Range<Int>? {
    var start = 12
    while let header = read(start, 8) {
      let size = number(header[4...])
      let end = start + 8 + size + size % 2
      if header.starts(with: "EXIF".utf8) { return start..<end }
      start = end
    }
    return nil
  }

  /// Returns the beginning of a file up to its feature flags, as it is without EXIF data of `count` bytes.
  private static func head(_ read: TIFFDirectory.Reader, dropping count: Int) -> [UInt8]? {
    guard var head = read(0, 21), head[12...].starts(with: "VP8X".utf8) else { return nil }
    let size = number(head[4..<8]) - count
    for index in 0..<4 { head[4 + index] = UInt8(truncatingIfNeeded: size >> (index * 8)) }
    head[20] &= ~exifFlag
    return head
  }

  private static let exifFlag: UInt8 = 0x08

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }
}
