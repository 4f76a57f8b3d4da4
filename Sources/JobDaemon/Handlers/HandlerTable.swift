import Jobs
import Synchronization

/// The handlers by type; those of declared types change with a reload.
///
/// A job that is running keeps the handler that it began with.
final class HandlerTable: Sendable {
  private struct State {
    var handlers: [String: any JobHandler]
    var typesSoFar: Set<String>
  }

  private let builtIn: [String: any JobHandler]
  private let state: Mutex<State>

  init(_ handlers: [any JobHandler]) {
    let builtIn = Dictionary(handlers.map { ($0.type, $0) }) { _, last in last }
    self.builtIn = builtIn
    state = Mutex(State(handlers: builtIn, typesSoFar: Set(builtIn.keys)))
  }

  subscript(type: String) -> (any JobHandler)? { state.withLock { $0.handlers[type] } }

  /// The types, sorted.
  var types: [String] { state.withLock { $0.handlers.keys.sorted() } }

  /// The types, with those that earlier declarations had: what was set for them is to be taken back.
  var typesSoFar: Set<String> { state.withLock { $0.typesSoFar } }

  /// Puts other declared handlers in the place of the earlier ones.
  func setDeclared(_ handlers: [any JobHandler]) {
    let merged = handlers.reduce(into: builtIn) { $0[$1.type] = $1 }
    state.withLock { state in
      state.handlers = merged
      state.typesSoFar.formUnion(merged.keys)
    }
  }
}

/// A handler of the daemon's own. It computes and blocks on its context's executor only, so that what else it awaits may
/// share ``WorkQueues``.
protocol OwnHandler: JobHandler {}
