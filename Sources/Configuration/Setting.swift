/// One key of the configuration file: its property, its notation and when a change takes effect.
struct Setting: Sendable {
  let section: String
  let key: String
  let effect: Configuration.Change.Effect
  /// Completes the sentence "expected ...".
  let allowed: String
  /// Stores the text's value; false, and no change, if the text is not allowed.
  let assign: @Sendable (_ text: String, _ configuration: inout Configuration) -> Bool
  /// Copies the value of this key, and of no other, from another configuration.
  let copy: @Sendable (_ source: Configuration, _ configuration: inout Configuration) -> Void
  /// The current value in the form that `assign` reads.
  let print: @Sendable (_ configuration: Configuration) -> String

  init<Value>(
    _ section: String, _ key: String, _ path: any WritableKeyPath<Configuration, Value> & Sendable,
    _ format: ValueFormat<Value>, _ effect: Configuration.Change.Effect
  ) {
    self.section = section
    self.key = key
    self.effect = effect
    allowed = format.allowed
    assign = { text, configuration in
      guard let value = format.parse(text) else { return false }
      configuration[keyPath: path] = value
      return true
    }
    copy = { source, configuration in configuration[keyPath: path] = source[keyPath: path] }
    print = { format.print($0[keyPath: path]) }
  }
}

extension Setting {
  /// Every key there is, in the order in which files list them; sections are contiguous.
  static let all: [Setting] = [
    Setting("Spool", "MaxJobFileSize", \.spool.maxJobFileSize, .size(in: 1 << 10...64 << 20), .onReload),
    Setting("Spool", "FailedAgeSec", \.spool.failedAge, .duration(in: .zero ... .seconds(315_360_000)), .onReload),
    Setting("Spool", "FailedCount", \.spool.failedCount, .integer(in: 0...10_000_000), .onReload),

    // The pool and its contexts are built once, at the start.
    Setting("Workers", "Count", \.workers.count, .integer(in: 1...1024), .onRestart),

    Setting(
      "Writer", "FlushIntervalSec", \.writer.flushInterval, .duration(in: .milliseconds(1) ... .seconds(3600)),
      .onReload),
    Setting("Writer", "HighWaterObjects", \.writer.highWaterObjects, .integer(in: 1...100_000_000), .onReload),
    Setting("Writer", "HighWaterBytes", \.writer.highWaterBytes, .size(in: 64 << 10...64 << 30), .onReload),
    Setting(
      "Writer", "ShutdownTimeoutSec", \.writer.shutdownTimeout, .duration(in: .seconds(1) ... .seconds(3600)),
      .onReload),

    // The store takes it when it is opened.
    Setting("Store", "ExternalDataThreshold", \.store.externalDataThreshold, .size(in: 1 << 10...1 << 30), .onRestart),

    Setting("Import", "ChunkRows", \.importing.chunkRows, .integer(in: 1...1_000_000), .onReload),
    Setting("Import", "MaxRecordSize", \.importing.maxRecordSize, .size(in: 1 << 10...1 << 30), .onReload),
    Setting("Import", "MaxRows", \.importing.maxRows, .integer(in: 0...1_000_000_000_000), .onReload),
    Setting("Import", "MaxUnpackedSize", \.importing.maxUnpackedSize, .size(in: 0...1 << 50), .onReload),

    // The helper pool is built once; the limits go with every request or with every helper started from then on.
    Setting("Image", "Helpers", \.image.helpers, .integer(in: 1...1024), .onRestart),
    Setting("Image", "InputFormats", \.image.inputFormats, .words(ImageWords.readable), .onReload),
    Setting("Image", "MaxPixels", \.image.maxPixels, .integer(in: 1...10_000_000_000), .onReload),
    Setting("Image", "MaxPages", \.image.maxPages, .integer(in: 1...1_000_000), .onReload),
    Setting("Image", "MaxInputSize", \.image.maxInputSize, .size(in: 1 << 10...16 << 30), .onReload),
    Setting("Image", "MaxTextSize", \.image.maxTextSize, .size(in: 1 << 10...1 << 30), .onReload),
    Setting("Image", "JobsPerHelper", \.image.jobsPerHelper, .integer(in: 1...1_000_000), .onReload),
    Setting("Image", "TimeoutSec", \.image.timeout, .duration(in: .seconds(1) ... .seconds(86_400)), .onReload),
    Setting("Image", "MemoryMax", \.image.memoryMax, .size(in: 512 << 20...1 << 40), .onReload),
    Setting("Image", "MemoryBudget", \.image.memoryBudget, .size(in: 128 << 20...1 << 50), .onRestart),
    Setting("Image", "RecycleMemory", \.image.recycleMemory, .size(in: 64 << 20...1 << 40), .onReload),
    Setting("Image", "ReuseSize", \.image.reuseSize, .size(in: 0...1 << 50), .onReload),

    Setting("Jobs", "MaxAttempts", \.jobs.maxAttempts, .integer(in: 1...1000), .onReload),
    Setting("Jobs", "Backoff", \.jobs.backoff, .choice, .onReload),
    Setting(
      "Jobs", "BackoffBaseSec", \.jobs.backoffBase, .duration(in: .milliseconds(1) ... .seconds(86_400)), .onReload),
    Setting(
      "Jobs", "BackoffLimitSec", \.jobs.backoffLimit, .duration(in: .milliseconds(1) ... .seconds(31_536_000)),
      .onReload),
    Setting("Jobs", "TimeoutSec", \.jobs.timeout, .duration(in: .zero ... .seconds(31_536_000)), .onReload),
    Setting("Jobs", "StopGraceSec", \.jobs.stopLimit, .duration(in: .seconds(1) ... .seconds(3600)), .onReload),
    // The places of waiting jobs are worked out from it once.
    Setting("Jobs", "AgingSec", \.jobs.aging, .duration(in: .seconds(1) ... .seconds(31_536_000)), .onRestart),
    Setting("Jobs", "UnknownTypes", \.jobs.unknownTypes, .choice, .onReload),

    Setting(
      "Retention", "CompletedAgeSec", \.retention.completedAge, .duration(in: .zero ... .seconds(315_360_000)),
      .onReload),
    Setting("Retention", "CompletedCount", \.retention.completedCount, .integer(in: 0...1_000_000_000), .onReload),
    Setting(
      "Retention", "FailedAgeSec", \.retention.failedAge, .duration(in: .zero ... .seconds(315_360_000)), .onReload),
    Setting("Retention", "FailedCount", \.retention.failedCount, .integer(in: 0...1_000_000_000), .onReload),
    Setting("Retention", "StoreSizeMax", \.retention.storeSize, .size(in: 0...1 << 50), .onReload),

    Setting("Status", "ReadAccess", \.status.readAccess, .choice, .onReload),
    // The HTTP server reserves its connections when it starts.
    Setting("Status", "MaxConnections", \.status.maxConnections, .integer(in: 1...10_000), .onRestart),
    Setting("Status", "MaxConnectionsPerUser", \.status.maxConnectionsPerUser, .integer(in: 1...10_000), .onRestart),
    Setting("Status", "MaxRequestSize", \.status.maxRequestSize, .size(in: 4 << 10...1 << 30), .onReload),

    Setting("Log", "Level", \.log.level, .choice, .onReload),
  ]

  /// The names of all sections, in the order of `all`.
  static let sections: [String] = all.reduce(into: []) { names, setting in
    if names.last != setting.section { names.append(setting.section) }
  }
}

/// The words that keys about pictures may have; a test keeps them the same as those of job files.
package enum ImageWords {
  package static let readable = [
    "jpeg", "png", "webp", "avif", "heif", "tiff", "gif", "svg", "pdf", "jp2", "jxl", "ppm",
  ]
  package static let writable = ["jpeg", "png", "webp", "avif", "heif", "tiff", "gif"]
  package static let fits = ["inside", "cover", "fill", "pad"]
  package static let crops = ["centre", "attention", "entropy"]
  package static let metadata = ["none", "all", "icc", "copyright"]
  package static let colours = ["srgb", "keep"]
}
