import ObjectGraph

/// The events of a context while the recorder lives, each with whether it came on the context's executor.
final class EventRecorder: Sendable {
  private let recorder: Recorder<(event: ContextEvent, onExecutor: Bool)>
  private let observation: ContextObservation

  init(_ context: ManagedObjectContext) {
    let recorder = Recorder<(event: ContextEvent, onExecutor: Bool)>()
    let executor = context.executor
    self.recorder = recorder
    observation = context.observe { recorder.append(($0, executor.isCurrent)) }
  }

  var all: [ContextEvent] { recorder.all.map(\.event) }

  var allCameOnExecutor: Bool { recorder.all.allSatisfy(\.onExecutor) }

  var didSaves: [ContextDidSave] {
    all.compactMap { if case .didSave(let save) = $0 { save } else { nil } }
  }

  var didChanges: [ObjectsDidChange] {
    all.compactMap { if case .didChange(let change) = $0 { change } else { nil } }
  }

  /// The kinds of the events, in order.
  var kinds: [String] {
    all.map { event in
      switch event {
      case .willSave: "willSave"
      case .didSave: "didSave"
      case .didSaveObjectIDs: "didSaveObjectIDs"
      case .didChange: "didChange"
      case .didReset: "didReset"
      }
    }
  }
}
