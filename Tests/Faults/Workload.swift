import DaemonTesting
import Foundation
import SystemSupport
import TestSupport

/// Makes job files of all kinds, at random, with what their jobs need in `payload/`.
struct Workload {
  /// The configuration under which the jobs do much in little time.
  static let configuration = """
    [Workers]
    Count=3
    [Writer]
    FlushIntervalSec=20ms
    [Store]
    ExternalDataThreshold=1K
    [Import]
    ChunkRows=5
    [Image]
    Helpers=1

    """

  /// The kinds of job files. Those of a new handler have a case here and a function in Workload+Kinds.
  enum Kind: CaseIterable {
    case noop, table, picture, badTable, slowPicture, chain, brokenChain, batch, scheduled, laterName, program, unnamed
  }

  var random: SeededGenerator
  /// Begins all IDs, so that several workloads can share a root.
  let prefix: String
  var number = 0
  /// The kinds to choose from.
  let kinds: [Kind]
  /// The queues to choose from; the usual one if there are none.
  let queues: [String]

  init(seed: UInt64, prefix: String = "j", kinds: [Kind] = Kind.allCases, queues: [String] = []) {
    random = SeededGenerator(seed: seed)
    self.prefix = prefix
    self.kinds = kinds
    self.queues = queues
  }

  /// Makes what pictures are made of and declares programs; to be called once for a root.
  static func prepare(_ root: DaemonRoot) async throws {
    try TestProgram.declareAll(in: root)
    try root.payload("in.jpg", try await TestPicture.jpeg())
  }

  /// Makes one or two files of a random kind.
  mutating func next(_ root: DaemonRoot) throws -> [ExpectedFile] {
    try files(kinds.randomElement(using: &random) ?? .noop, root)
  }
}
