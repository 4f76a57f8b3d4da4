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
  let text: @Sendable (_ configuration: Configuration) -> String

  init<Value>(
    _ section: String, _ key: String, at path: any WritableKeyPath<Configuration, Value> & Sendable,
    as format: ValueFormat<Value>, effect: Configuration.Change.Effect = .onReload
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
    text = { format.text($0[keyPath: path]) }
  }
}

extension Setting {
  /// Every key there is, in the order in which files list them; sections are contiguous.
  static let all: [Setting] = [
    Setting("Spool", "MaxJobFileSize", at: \.spool.maxJobFileSize, as: .size(in: 1 << 10...64 << 20)),
    Setting("Spool", "MaxLineFileSize", at: \.spool.maxLineFileSize, as: .size(in: 1 << 10...1 << 40)),
    Setting("Spool", "MaxJobsPerUser", at: \.spool.maxJobsPerUser, as: .integer(in: 0...2_000_000)),
    Setting("Spool", "MaxBytesPerUser", at: \.spool.maxBytesPerUser, as: .size(in: 0...1 << 50)),
    Setting("Spool", "MaxUploadSize", at: \.spool.maxUploadSize, as: .size(in: 0...1 << 40)),
    Setting("Spool", "MaxUploadBytesPerUser", at: \.spool.maxUploadBytesPerUser, as: .size(in: 0...1 << 50)),
    Setting("Spool", "FailedAgeSec", at: \.spool.failedAge, as: .duration(in: .zero ... .seconds(315_360_000))),
    Setting("Spool", "FailedCount", at: \.spool.failedCount, as: .integer(in: 0...10_000_000)),

    // The pool and its contexts are built once, at the start.
    Setting("Workers", "Count", at: \.workers.count, as: .integer(in: 1...1024), effect: .onRestart),

    Setting(
      "Writer", "FlushIntervalSec", at: \.writer.flushInterval, as: .duration(in: .milliseconds(1) ... .seconds(3600))),
    Setting("Writer", "HighWaterObjects", at: \.writer.highWaterObjects, as: .integer(in: 1...100_000_000)),
    Setting("Writer", "HighWaterBytes", at: \.writer.highWaterBytes, as: .size(in: 64 << 10...64 << 30)),
    Setting(
      "Writer", "ShutdownTimeoutSec", at: \.writer.shutdownTimeout, as: .duration(in: .seconds(1) ... .seconds(3600))),

    // The store takes them when it is opened.
    Setting("Store", "Path", at: \.store.path, as: .folderPath, effect: .onRestart),
    Setting(
      "Store", "ExternalDataThreshold", at: \.store.externalDataThreshold, as: .size(in: 1 << 10...1 << 30),
      effect: .onRestart),
    Setting("Store", "Url", at: \.store.url, as: .databaseURL, effect: .onRestart),
    Setting("Store", "CopyPath", at: \.store.copyPath, as: .folderPath),
    Setting(
      "Store", "CopyIntervalSec", at: \.store.copyInterval, as: .duration(in: .zero ... .seconds(31_536_000))),
    Setting("Store", "CopyMode", at: \.store.copyMode, as: .fileMode),

    // A host joins its fleet once, as what it is.
    Setting("Fleet", "Name", at: \.fleet.name, as: .hostName, effect: .onRestart),
    Setting("Fleet", "Places", at: \.fleet.places, as: .names, effect: .onRestart),
    Setting("Fleet", "SharedFolders", at: \.fleet.sharedFolders, as: .absolutePaths),
    Setting("Fleet", "CopiedInputSize", at: \.fleet.copiedInputSize, as: .size(in: 0...64 << 20)),
    Setting("Fleet", "UserDomain", at: \.fleet.userDomain, as: .hostName, effect: .onRestart),
    Setting("Fleet", "RunsAs", at: \.fleet.runsAs, as: .userNumbers),

    Setting("Import", "ChunkRows", at: \.importing.chunkRows, as: .integer(in: 1...1_000_000)),
    Setting("Import", "MaxRecordSize", at: \.importing.maxRecordSize, as: .size(in: 1 << 10...1 << 30)),
    Setting("Import", "MaxRows", at: \.importing.maxRows, as: .integer(in: 0...1_000_000_000_000)),
    Setting("Import", "MaxUnpackedSize", at: \.importing.maxUnpackedSize, as: .size(in: 0...1 << 50)),

    Setting("Image", "Mode", at: \.image.mode, as: .fileMode),
    // The helper pool is built once; the limits go with every request or with every helper started from then on.
    Setting("Image", "Helpers", at: \.image.helpers, as: .integer(in: 1...1024), effect: .onRestart),
    Setting("Image", "InputFormats", at: \.image.inputFormats, as: .words(ImageWords.readable)),
    Setting("Image", "MaxPixels", at: \.image.maxPixels, as: .integer(in: 1...10_000_000_000)),
    Setting("Image", "MaxPages", at: \.image.maxPages, as: .integer(in: 1...1_000_000)),
    Setting("Image", "MaxInputSize", at: \.image.maxInputSize, as: .size(in: 1 << 10...16 << 30)),
    Setting("Image", "MaxTextSize", at: \.image.maxTextSize, as: .size(in: 1 << 10...1 << 30)),
    Setting("Image", "JobsPerHelper", at: \.image.jobsPerHelper, as: .integer(in: 1...1_000_000)),
    Setting("Image", "TimeoutSec", at: \.image.timeout, as: .duration(in: .seconds(1) ... .seconds(86_400))),
    Setting("Image", "MemoryMax", at: \.image.memoryMax, as: .size(in: 512 << 20...1 << 40)),
    Setting("Image", "MemoryBudget", at: \.image.memoryBudget, as: .size(in: 128 << 20...1 << 50), effect: .onRestart),
    Setting("Image", "RecycleMemory", at: \.image.recycleMemory, as: .size(in: 64 << 20...1 << 40)),
    Setting("Image", "ReuseSize", at: \.image.reuseSize, as: .size(in: 0...1 << 50)),

    Setting("Jobs", "MaxAttempts", at: \.jobs.maxAttempts, as: .integer(in: 1...1000)),
    Setting("Jobs", "Backoff", at: \.jobs.backoff, as: .choice),
    Setting(
      "Jobs", "BackoffBaseSec", at: \.jobs.backoffBase, as: .duration(in: .milliseconds(1) ... .seconds(86_400))),
    Setting(
      "Jobs", "BackoffLimitSec", at: \.jobs.backoffLimit, as: .duration(in: .milliseconds(1) ... .seconds(31_536_000))),
    Setting("Jobs", "TimeoutSec", at: \.jobs.timeout, as: .duration(in: .zero ... .seconds(31_536_000))),
    Setting("Jobs", "StopGraceSec", at: \.jobs.stopLimit, as: .duration(in: .seconds(1) ... .seconds(3600))),
    // The places of waiting jobs are worked out from it once.
    Setting(
      "Jobs", "AgingSec", at: \.jobs.aging, as: .duration(in: .seconds(1) ... .seconds(31_536_000)), effect: .onRestart),
    Setting("Jobs", "UnknownTypes", at: \.jobs.unknownTypes, as: .choice),

    Setting(
      "Retention", "CompletedAgeSec", at: \.retention.completedAge, as: .duration(in: .zero ... .seconds(315_360_000))),
    Setting("Retention", "CompletedCount", at: \.retention.completedCount, as: .integer(in: 0...1_000_000_000)),
    Setting(
      "Retention", "FailedAgeSec", at: \.retention.failedAge, as: .duration(in: .zero ... .seconds(315_360_000))),
    Setting("Retention", "FailedCount", at: \.retention.failedCount, as: .integer(in: 0...1_000_000_000)),
    Setting("Retention", "StoreSizeMax", at: \.retention.storeSize, as: .size(in: 0...1 << 50)),

    Setting("Status", "ReadAccess", at: \.status.readAccess, as: .choice),
    Setting("Status", "ControlGroup", at: \.status.controlGroup, as: .text),
    // The HTTP server reserves its connections when it starts.
    Setting("Status", "MaxConnections", at: \.status.maxConnections, as: .integer(in: 1...10_000), effect: .onRestart),
    Setting(
      "Status", "MaxConnectionsPerUser", at: \.status.maxConnectionsPerUser, as: .integer(in: 1...10_000),
      effect: .onRestart),
    Setting("Status", "ObjectAccess", at: \.status.objectAccess, as: .choice),
    Setting(
      "Status", "QueryTimeoutSec", at: \.status.queryTimeout,
      as: .duration(in: .milliseconds(1) ... .seconds(240))),
    Setting("Status", "MaxRequestSize", at: \.status.maxRequestSize, as: .size(in: 4 << 10...1 << 30)),
    Setting("Status", "Listen", at: \.status.listen, as: .listenAddress, effect: .onRestart),
    Setting("Status", "Hosts", at: \.status.hosts, as: .hostNames),

    Setting("Log", "Level", at: \.log.level, as: .choice),
    Setting("Log", "Jobs", at: \.log.jobs, as: .integer(in: 0...10_000)),
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
