/// A helper, how many jobs it has had, and what it was when it was new.
struct LeasedHelper {
  let helper: ImageHelper
  var jobs: Int
  /// Its address space, in bytes, when it first answered.
  private var firstAddressSpace: Int?

  init(helper: ImageHelper, jobs: Int) {
    self.helper = helper
    self.jobs = jobs
  }

  /// To be called when it has answered.
  mutating func noteAddressSpace() {
    if firstAddressSpace == nil { firstAddressSpace = helper.memory().addressSpace }
  }

  /// Whether it has so much memory, or address space that it won't give back, that a new one is better.
  func hasGrown(beyond most: Int) -> Bool {
    let (resident, addressSpace) = helper.memory()
    return resident > most
      || addressSpace > (firstAddressSpace ?? addressSpace) + ImageHelperConfiguration.addressSpaceGain
  }
}
