import Configuration
import ImageProtocol

extension ImageHelperConfiguration {
  /// What `[Image]` says about helpers.
  init(_ settings: Configuration.Image, helperPath: String) {
    self.init(
      helperPath: helperPath, size: settings.helpers,
      arguments: ImageHelperArguments(addressSpace: settings.memoryMax), jobsPerHelper: settings.jobsPerHelper,
      wallClockLimit: settings.timeout, memoryBudget: settings.memoryBudget, recycleMemory: settings.recycleMemory)
  }
}
