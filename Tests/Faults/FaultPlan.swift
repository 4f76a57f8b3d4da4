import Foundation
import TestSupport

/// How many faults of each kind there are to be: few in every test run, all in `make test-faults`.
enum FaultPlan {
  /// `BOBBIN_FAULTS=all` asks for the whole proof.
  static let isWhole = ProcessInfo.processInfo.environment["BOBBIN_FAULTS"] == "all"

  /// A number of faults; `BOBBIN_FAULTS_NAME` wins over both.
  static func count(_ name: String, short: Int, whole: Int) -> Int {
    let given = ProcessInfo.processInfo.environment["BOBBIN_FAULTS_\(name)"].flatMap(Int.init)
    return given ?? (isWhole ? whole : short)
  }

  /// What random choices come from; `BOBBIN_FAULTS_SEED` repeats those of another run.
  static let seed =
    ProcessInfo.processInfo.environment["BOBBIN_FAULTS_SEED"].flatMap(UInt64.init) ?? .random(in: 0...999_999)
}
