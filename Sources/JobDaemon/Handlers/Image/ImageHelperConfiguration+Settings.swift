import Configuration
import ImageProtocol

extension ImageHelperConfiguration {
  /// What `[Image]` says about helpers.
  ///
  /// A picture may take its time three times over by the clock, since other programs want the processor, too: one that
  /// computes without end is to meet the limit that tells so, and is not tried again.
  init(_ settings: Configuration.Image, helperPath: String) {
    self.init(
      helperPath: helperPath, size: settings.helpers,
      arguments: ImageHelperArguments(addressSpace: settings.memoryMax), jobsPerHelper: settings.jobsPerHelper,
      wallClockLimit: settings.timeout * 3, memoryBudget: settings.memoryBudget, recycleMemory: settings.recycleMemory)
  }
}
