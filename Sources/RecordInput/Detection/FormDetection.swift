import DelimitedText

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
    let isWhole = raw.count < InputSample.size
    let encoding = options.encoding ?? TextEncoding(guessedFrom: raw)
    let text =
      encoding == .utf8 ? raw : try ConvertedBytes(SampleBytes(raw), from: encoding).bytes(4 * InputSample.size)
    let sample = InputSample(text: text, isWhole: isWhole).withoutMark.dropping(lines: options.skipLines)
    let input = InputBytes(file, compression, encoding)
    let form = form(of: sample, compression, encoding, options)
    if let problem = form.dialect.problem { throw InputError(problem) }
    return (input, form)
  }

  private static func form(
    of sample: InputSample, _ compression: Compression, _ encoding: TextEncoding, _ options: InputOptions
  ) -> InputForm {
    let guess = options.path == nil ? JSONSample(sample).format : .json
    var form = InputForm(
      format: options.format ?? guess ?? .csv, compression: compression, encoding: encoding,
      dialect: DelimitedDialect(), hasHeader: true, path: options.path ?? [])
    guard form.isDelimited else {
      let json = JSONSample(sample)
      if form.format == .json, options.path == nil { form.path = json.path }
      form.holdsOneRecord = form.format == .json && form.path.isEmpty && json.first != 0x5B
      form.hasHeader = options.hasHeader ?? json.hasKeys(form)
      return form
    }
    var options = options
    if form.format == .tsv, options.separator == nil { options.separator = 0x09 }
    form.dialect = DialectDetection(sample, options).dialect
    if form.dialect.separator == 0x09 { form.format = .tsv }
    form.hasHeader = options.hasHeader ?? HeaderDetection.hasHeader(sample, form.dialect)
    return form
  }
}
