import Configuration
package import ImageProtocol

/// The number of image helpers, how they are started and when they are ended.
package struct ImageHelperConfiguration: Sendable {
  /// The path of `bobbin-image`.
  package var helperPath: String
  /// The most helpers, and so pictures, at a time; each takes a processor.
  package var size: Int
  /// The limits of each helper's process.
  package var arguments: ImageHelperArguments
  /// After this many jobs a helper is replaced, which bounds what a leak in a decoder can gather.
  package var jobsPerHelper: Int
  /// The longest that one job may take in a helper; time in the queue doesn't count.
  package var wallClockLimit: Duration
  /// The memory that all helpers together may take, in bytes.
  package var memoryBudget: Int
  /// A helper that has more memory than this after a job, in bytes, is replaced.
  package var recycleMemory: Int

  /// The memory of an idle helper: some 36 MB for libraries, most of it shared, and the rest of its heap.
  static let idleMemory = 40 << 20
  /// The memory that a helper may take for a picture without asking, in bytes; enough for most thumbnails.
  static let freeMemory = 32 << 20
  /// The address space that a helper may gain from picture to picture, in bytes; it has twice that in reserve.
  static let addressSpaceGain = 128 << 20

  package init(
    helperPath: String, size: Int, arguments: ImageHelperArguments = ImageHelperArguments(),
    jobsPerHelper: Int = 200, wallClockLimit: Duration = .seconds(300), memoryBudget: Int = 3 << 30,
    recycleMemory: Int = 256 << 20
  ) {
    precondition(size > 0 && jobsPerHelper > 0, "a pool needs a helper and a helper needs a job")
    self.helperPath = helperPath
    // Half of the budget at least is for large pictures.
    self.size = max(1, min(size, memoryBudget / 2 / (Self.idleMemory + Self.freeMemory)))
    self.arguments = arguments
    self.jobsPerHelper = jobsPerHelper
    self.wallClockLimit = wallClockLimit
    self.memoryBudget = memoryBudget
    self.recycleMemory = recycleMemory
  }

  /// The memory that helpers have to ask for, together.
  var sharedMemory: Int { max(0, memoryBudget - size * (Self.idleMemory + Self.freeMemory)) }
}

extension ImageHelperConfiguration {
  /// Makes the configuration from the section `[Image]`.
  ///
  /// A picture may take its time three times over by the clock, since other programs want the processor, too: one that
  /// computes without end should meet the limit of processor time, whose failure is permanent.
  init(_ settings: Configuration.Image, helperPath: String) {
    self.init(
      helperPath: helperPath, size: settings.helpers,
      arguments: ImageHelperArguments(addressSpace: settings.memoryMax), jobsPerHelper: settings.jobsPerHelper,
      wallClockLimit: settings.timeout * 3, memoryBudget: settings.memoryBudget, recycleMemory: settings.recycleMemory)
  }
}
