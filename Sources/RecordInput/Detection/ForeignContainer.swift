/// What a file is that looks like no text of records, by its first bytes.
enum ForeignContainer {
  private static let magics: [(bytes: [UInt8], advice: String)] = [
    ([0x50, 0x4B, 0x03, 0x04], zip), ([0x50, 0x4B, 0x05, 0x06], zip),
    ([0x42, 0x5A, 0x68], "it is packed with bzip2; unpack it, or pack it with gzip or zstd"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], "it is packed with xz; unpack it, or pack it with gzip or zstd"),
    ([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C], "it is a 7z archive; extract the file to import"),
    ([0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1], "it is a document of an old office program; save it as CSV"),
    ([0x1F, 0x8B, 0x08], "it is packed with gzip twice; unpack it once"),
    ([0x28, 0xB5, 0x2F, 0xFD], "it is packed twice, with zstd inside; unpack it once"),
  ]
  private static let zip = "it is a zip archive (a spreadsheet in xlsx is one); extract it, or save the sheet as CSV"
  /// What follows the size of a block in bzip2.
  private static let bzip2Block: [UInt8] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]

  /// What is wrong with a file, unpacked as far as it can be, and what to do; nil if it may be a text.
  static func problem(_ bytes: [UInt8]) -> String? {
    for (magic, advice) in magics where bytes.starts(with: magic) {
      // A text may begin with these three letters.
      if magic.count == 3, magic[0] == 0x42, !bytes.dropFirst(4).starts(with: bzip2Block) { continue }
      return advice
    }
    // "ustar" in the header of the first file.
    if bytes.count > 262, bytes[257..<262].elementsEqual("ustar".utf8) {
      return "it is a tar archive; extract the file to import"
    }
    return nil
  }
}
