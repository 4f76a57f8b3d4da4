import DelimitedText
import SystemSupport

/// Finds out how an input is written, as far as nobody has stated it.
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
    let encoding = options.encoding?.ordered(by: raw) ?? TextEncoding(guessedFrom: raw)
    let text =
      encoding == .utf8 ? raw : try ConvertedBytes(SampleBytes(raw), from: encoding).bytes(4 * InputSample.size)
    let sample = InputSample(text: text, isWhole: isWhole).withoutMarks.dropping(lines: options.skipLines)
    let input = InputBytes(file, compression, encoding, unpackedLimit: options.maxUnpackedSize)
    let form = try form(of: sample, compression, encoding, options)
    if let problem = form.dialect.problem { throw InputError(problem) }
    return (input, form)
  }

  private static func form(
    of sample: InputSample, _ compression: Compression, _ encoding: TextEncoding, _ options: InputOptions
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
