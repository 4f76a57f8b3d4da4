import DelimitedText
import SystemSupport

/// The detection of an input's notation, as far as it is not stated.
enum FormDetection {
  static func find(_ file: FileBytes, _ options: InputOptions) throws(InputError) -> (InputBytes, InputForm) {
    file.offset = 0
    let compression =
      if let stated = options.compression { stated } else {
        try file.bytes(4).withUnsafeBytes(Compression.init(magicOf:))
      }
    file.offset = 0
    let raw = try InputBytes.unpacked(file, compression).bytes(InputSample.size)
    if let problem = ForeignContainer.problem(raw) { throw InputError(problem) }
    let isWhole = raw.count < InputSample.size
    let encoding = options.encoding?.ordered(by: raw) ?? TextEncoding(guessedFrom: raw, isWhole: isWhole)
    let text =
      encoding == .utf8 ? raw : try ConvertedBytes(SampleBytes(raw), from: encoding).bytes(4 * InputSample.size)
    let sample = InputSample(text: text, isWhole: isWhole).withoutMarks.dropping(lines: options.skipLines)
    let input = InputBytes(file, compression, encoding: encoding, unpackedLimit: options.maxUnpackedSize)
    let form = try form(of: sample, compression: compression, encoding: encoding, options: options)
    if let problem = form.dialect.problem { throw InputError(problem) }
    return (input, form)
  }

  private static func form(
    of sample: InputSample, compression: Compression, encoding: TextEncoding, options: InputOptions
  ) throws(InputError) -> InputForm {
    let guess = options.statesFields ? nil : options.path == nil ? JSONSample(sample).format : .json
    var form = InputForm(
      format: options.format ?? guess ?? .csv, compression: compression, encoding: encoding,
      dialect: DelimitedDialect(), hasHeader: true, path: options.path ?? [])
    form.skippedLines = options.skipLines
    guard form.isDelimited else {
      let json = JSONSample(sample)
      if form.format == .json, options.path == nil { form.path = try path(json.arrays) }
      form.holdsOneRecord = form.format == .json && form.path.isEmpty && json.first != 0x5B
      form.hasHeader = options.hasHeader ?? json.hasKeys(form)
      return form
    }
    var (options, sample) = (options, sample)
    if let separator = sample.namedSeparator {
      options.separator = options.separator ?? separator
      sample = sample.dropping(lines: 1)
      form.skippedLines += 1
    }
    if form.format == .tsv, options.separator == nil { options.separator = 0x09 }
    form.dialect = DialectDetection(sample, options).dialect
    if form.dialect.separator == 0x09 { form.format = .tsv }
    form.hasHeader = options.hasHeader ?? HeaderDetection.hasHeader(sample, form.dialect)
    return form
  }

  /// The one array that the records can be in; none if the text is a record itself.
  private static func path(_ arrays: [String]) throws(InputError) -> [String] {
    guard arrays.count > 1 else { return arrays }
    let names = arrays.prefix(5).map { displayName($0) }.joined(separator: ", ") + (arrays.count > 5 ? ", …" : "")
    throw InputError(
      "its records may be in any of several arrays (\(names)); state which one as \"records\", or the format "
        + "\"ndjson\" if each line is a record")
  }
}

/// Files that are not text, recognized by their first bytes.
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
  /// The bytes after the size of a block in bzip2.
  private static let bzip2Block: [UInt8] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]

  /// Returns the problem with a file, unpacked as far as possible, and the remedy; nil if it may be text.
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
