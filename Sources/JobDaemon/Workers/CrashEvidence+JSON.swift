import JSONText
import Jobs

extension JSONValue {
  /// The evidence as an attempt's record keeps it, and as the status API shows it.
  init(_ evidence: CrashEvidence) {
    self = .object([
      "signal": evidence.signal.map { .integer(Int64($0)) } ?? .null,
      "exitStatus": evidence.exitStatus.map { .integer(Int64($0)) } ?? .null,
      "userSeconds": .number(evidence.userSeconds), "systemSeconds": .number(evidence.systemSeconds),
      "maximumResidentBytes": .integer(Int64(evidence.maximumResidentBytes)),
      "logTail": .string(evidence.logTail),
    ])
  }
}
