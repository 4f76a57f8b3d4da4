import FoundationEssentials

/// Every setting of the daemon; the initial values here are the only defaults.
///
/// A value is made by ``load(_:mainFile:)`` or ``parse(_:file:)`` only, so that it always lies within the ranges
/// of ``Setting``. ``changes(from:)`` says whether a changed key needs a restart.
package struct Configuration: Sendable, Equatable {
  package internal(set) var spool = Spool()
  package internal(set) var workers = Workers()
  package internal(set) var writer = Writer()
  package internal(set) var store = Store()
  package internal(set) var fleet = Fleet()
  package internal(set) var importing = Import()
  package internal(set) var image = Image()
  package internal(set) var jobs = Jobs()
  package internal(set) var retention = Retention()
  package internal(set) var status = Status()
  package internal(set) var log = Log()
  /// `[Queue NAME]`, by name.
  package internal(set) var queues: [String: Limits] = [:]
  /// `[Type NAME]`, by name.
  package internal(set) var types: [String: JobType] = [:]
  /// `[ImagePreset NAME]`, by name.
  package internal(set) var imagePresets: [String: ImagePreset] = [:]
  /// `[Notify NAME]`, by name.
  package internal(set) var notifiers: [String: Notifier] = [:]
  /// The place of each `[ImagePreset NAME]` and `[Notify NAME]`, for problems that are found later: the last one, if there
  /// are several.
  package internal(set) var sectionPlaces: [String: SectionPlace] = [:]

  /// All settings at their defaults.
  package init() {}

  /// `[Spool]`: what is accepted from the folder `new/`.
  package struct Spool: Sendable, Equatable {
    /// The largest job file accepted, in bytes.
    package internal(set) var maxJobFileSize = 1 << 20
    /// The largest file with one job on each line, in bytes; no line may be larger than a job file.
    package internal(set) var maxLineFileSize = 1 << 30
    /// The most unfinished jobs in the files of one user; 0 for any number.
    package internal(set) var maxJobsPerUser = 1_000_000
    /// The most bytes of one user's files with unfinished jobs; 0 for any number.
    package internal(set) var maxBytesPerUser = 4 << 30
    /// The largest request with inputs of its jobs, in bytes; 0 for none.
    package internal(set) var maxUploadSize = 1 << 30
    /// The most bytes of inputs that are kept for the unfinished and failed jobs of one user.
    package internal(set) var maxUploadBytesPerUser = 10 << 30
    /// The time for which files stay in the folder `failed/`.
    package internal(set) var failedAge = Duration.seconds(90 * 86_400)
    /// The most files that stay in the folder `failed/`.
    package internal(set) var failedCount = 10_000
  }

  /// `[Workers]`: the pool that runs the jobs.
  package struct Workers: Sendable, Equatable {
    /// The most jobs that run at a time; usually one more than cores, as jobs wait for the disk and for programs.
    package internal(set) var count = Configuration.coreCount + 1
  }

  /// `[Writer]`: when computed results go to disk.
  package struct Writer: Sendable, Equatable {
    /// The longest time for which a change may wait to be flushed.
    package internal(set) var flushInterval = Duration.milliseconds(250)
    /// Unflushed objects that cause a flush at once.
    package internal(set) var highWaterObjects = 50_000
    /// Unflushed bytes that cause a flush at once; workers wait while there are more.
    package internal(set) var highWaterBytes = 64 << 20
    /// The time for running jobs to finish after SIGTERM, before they return to the queue.
    package internal(set) var shutdownTimeout = Duration.seconds(30)
  }

  /// `[Store]`: where jobs and rows are kept, and how.
  package struct Store: Sendable, Equatable {
    /// The folder of the store; empty for the usual one.
    package internal(set) var path = ""
    /// Binary values larger than this many bytes are kept in files beside the database.
    package internal(set) var externalDataThreshold = 64 << 10
    /// The database of a fleet, as a URL of PostgreSQL; empty for a file of this host's own.
    package internal(set) var url = ""
    /// The path of a copy of the store for other programs; empty for none.
    package internal(set) var copyPath = ""
    /// The least time between two refreshes of the copy that nobody has asked for; zero for none of them.
    package internal(set) var copyInterval = Duration.seconds(15 * 60)
    /// The permission bits of the copy, whatever the umask, in base 8.
    package internal(set) var copyMode = "640"

    /// Returns the problems of keys that are allowed, but not together.
    ///
    /// - Parameter paths: where the store is kept.
    func problems(_ paths: Paths) -> [String] {
      if !url.isEmpty, !path.isEmpty {
        return ["Path= and Url= exclude each other: the store is a folder of this host, or the database of a fleet"]
      }
      if copyPath.isEmpty { return [] }
      if !url.isEmpty {
        return ["CopyPath= is for a store of this host alone; other programs can read the database of Url= itself"]
      }
      if copyPath == paths.state || copyPath.hasPrefix(paths.state + "/") {
        return ["CopyPath= must lie outside of \(paths.state), which is closed to other users"]
      }
      return []
    }
  }

  /// Returns the problems of `[Store]` as a whole, of which the keys may come from several files.
  package func storeProblems(_ paths: Paths) -> [ConfigurationProblem] {
    store.problems(paths.placed(by: self)).map {
      ConfigurationProblem(section: "Store", at: nil, $0)
    }
  }

  /// Settings that have no effect beside others, each in words.
  package var idleSettings: [String] {
    if store.url.isEmpty || retention.storeSize == 0 { return [] }
    return [
      "[Retention] StoreSizeMax has no effect beside [Store] Url: the tables of a server do not shrink when jobs are removed; "
        + "set ages and counts instead"
    ]
  }

  /// `[Fleet]`: this host among those that share a database.
  package struct Fleet: Sendable, Equatable {
    /// The name of this host; empty for the system's.
    package internal(set) var name = ""
    /// The places that it offers beside its own spool.
    package internal(set) var places: [String] = []
    /// Folders that all hosts see under the same paths.
    package internal(set) var sharedFolders: [String] = []
    /// The bytes of a job's inputs up to which they are copied to other hosts; 0 for none.
    package internal(set) var copiedInputSize = 0
    /// The name for the users of this host: hosts with the same one have the same user under each number. Empty for all.
    package internal(set) var userDomain = ""
    /// The numbers of the users for whom this host runs jobs that came to others; empty for all.
    package internal(set) var runsAs: [ClosedRange<UInt32>] = []

    /// The name of this host, given or the system's.
    package var hostName: String { name.isEmpty ? ProcessInfo.processInfo.hostName : name }

    /// The name of this host's spool among those of the fleet.
    package func spoolName(_ paths: Paths) -> String { hostName + ":" + paths.spool }
  }

  /// `[Import]`: the job type `import`.
  package struct Import: Sendable, Equatable {
    /// Rows that are merged together.
    package internal(set) var chunkRows = 10_000
    /// The largest single record, in bytes; it bounds what an unclosed quote can cost.
    package internal(set) var maxRecordSize = 16 << 20
    /// The most records of one input; 0 for any number.
    package internal(set) var maxRows = 100_000_000
    /// The most bytes that a packed input may unpack to; 0 for any number.
    package internal(set) var maxUnpackedSize = 16 << 30
  }

  /// `[Image]`: the job type `image.encode` and its helper processes.
  package struct Image: Sendable, Equatable {
    /// The permission bits of outputs, whatever the umask, in base 8.
    package internal(set) var mode = "644"
    /// The most helper processes that run at a time.
    package internal(set) var helpers = Configuration.coreCount
    /// The formats of pictures that are read.
    package internal(set) var inputFormats = ["jpeg", "png", "webp", "avif", "heif", "tiff", "gif"]
    /// The largest width x height x pages that is decoded.
    package internal(set) var maxPixels = 200_000_000
    /// The most pages or frames of an input.
    package internal(set) var maxPages = 256
    /// The largest input file, in bytes.
    package internal(set) var maxInputSize = 256 << 20
    /// The most bytes that packed texts and profiles in a picture may unpack to.
    package internal(set) var maxTextSize = 16 << 20
    /// Pictures after which a helper is replaced by a fresh one.
    package internal(set) var jobsPerHelper = 200
    /// The time limit of one picture, after which its helper is killed.
    package internal(set) var timeout = Duration.seconds(120)
    /// The largest address space of one helper, in bytes.
    package internal(set) var memoryMax = 16 << 30
    /// The memory of all helpers together, in bytes.
    package internal(set) var memoryBudget = 3 << 30
    /// The memory, in bytes, with which a helper is replaced after a picture.
    package internal(set) var recycleMemory = 256 << 20
    /// The total size of pictures that are kept for jobs with the same input, in bytes; 0 to keep none.
    package internal(set) var reuseSize = 1 << 30
  }

  /// `[Jobs]`: settings for jobs of any type.
  package struct Jobs: Sendable, Equatable {
    /// The most attempts of a job; with the delays below, the last one comes after a day and a third.
    package internal(set) var maxAttempts = 20
    /// The growth of the delay after a failed attempt.
    package internal(set) var backoff = BackoffGrowth.exponential
    /// The delay after the first failed attempt.
    package internal(set) var backoffBase = Duration.seconds(1)
    /// The longest delay after a failed attempt.
    package internal(set) var backoffLimit = Duration.seconds(6 * 3600)
    /// The time limit of an attempt; zero for none.
    package internal(set) var timeout = Duration.zero
    /// The time for a handler to stop once it was told to.
    package internal(set) var stopLimit = Duration.seconds(10)
    /// The wait after which a job goes before a new one whose priority is one higher.
    package internal(set) var aging = Duration.seconds(60)
    /// The treatment of jobs whose type no handler knows.
    package internal(set) var unknownTypes = UnknownTypes.refuse
  }

  /// `[Retention]`: how long finished jobs are kept.
  package struct Retention: Sendable, Equatable {
    /// The time for which completed jobs are kept.
    package internal(set) var completedAge = Duration.seconds(7 * 86_400)
    /// The most completed jobs that are kept.
    package internal(set) var completedCount = 1_000_000
    /// The time for which cancelled and discarded jobs are kept.
    package internal(set) var failedAge = Duration.seconds(30 * 86_400)
    /// The most cancelled and discarded jobs that are kept.
    package internal(set) var failedCount = 100_000
    /// The size of the store above which the oldest finished jobs are removed; 0 for any size.
    package internal(set) var storeSize = 0
  }

  /// `[Status]`: the HTTP interface on the Unix socket, and on TCP if there is one.
  package struct Status: Sendable, Equatable {
    /// The users who may read; root and the daemon's user always may.
    package internal(set) var readAccess = ReadAccess.group
    /// The name of the group whose members may do what root may on the socket, but for editing the jobs of others; empty for
    /// none.
    package internal(set) var controlGroup = ""
    /// Connections served at a time.
    package internal(set) var maxConnections = 64
    /// Connections of one user; root and the daemon's user have as many as there are, and a few that nobody else gets.
    package internal(set) var maxConnectionsPerUser = 16
    /// Those of them who may read objects, whose values may be more private than what jobs are there.
    package internal(set) var objectAccess = ReadAccess.group
    /// The longest time for one look into the store for objects.
    package internal(set) var queryTimeout = Duration.seconds(10)
    /// The largest request body, in bytes.
    package internal(set) var maxRequestSize = 8 << 20
    /// The address and port at which clients of TCP are served, without systemd's socket for them; empty for none.
    package internal(set) var listen = ""
    /// The names by which browsers may reach the daemon, in lower case and without a port.
    package internal(set) var hosts = ["localhost", "127.0.0.1", "[::1]"]
  }

  /// `[Log]`: what goes to the journal.
  package struct Log: Sendable, Equatable {
    /// The least important level that is logged.
    package internal(set) var level = LogLevel.info
    /// The most lines a second about jobs that have ended well; of more of them their number is logged.
    package internal(set) var jobs = 100
  }

  private static let coreCount = max(1, ProcessInfo.processInfo.activeProcessorCount)
}

/// The growth of the delay after failed attempts.
package enum BackoffGrowth: String, Sendable, CaseIterable {
  /// The same delay every time.
  case fixed
  /// Once, twice, three times the first delay.
  case linear
  /// Once, twice, four times the first delay.
  case exponential
}

/// The treatment of jobs whose type no handler knows.
package enum UnknownTypes: String, Sendable, CaseIterable {
  /// Their file is refused.
  case refuse
  /// They are accepted and held, since a later version may know the type.
  case hold
}

/// The users who may read jobs and results through the status interface, besides root.
package enum ReadAccess: String, Sendable, CaseIterable {
  /// Every local user.
  case everyone
  /// The daemon's user and the members of its group.
  case group
  /// The daemon's user alone.
  case owner
}

/// The importance of a log line, with syslog's names, from the most important to the least.
package enum LogLevel: String, Sendable, CaseIterable {
  case error, warning, notice, info, debug

  /// The priority that syslog and the journal give to this level; a smaller number is more important.
  package var priority: Int {
    switch self {
    case .error: 3
    case .warning: 4
    case .notice: 5
    case .info: 6
    case .debug: 7
    }
  }
}
