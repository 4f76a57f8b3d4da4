/// An operator's command for jobs.
package enum JobCommand: Sendable, Equatable {
  case cancel(reason: String)
  case hold
  case release
  case retry
  case redrive
  case setPriority(Int)
  case delete

  package var isCancel: Bool { if case .cancel = self { true } else { false } }
}
