import Synchronization

/// A value that comes later, once, and those that wait for it.
final class Later<Value: Sendable>: Sendable {
  private let state = Mutex<(value: Value?, calls: [@Sendable (Value) -> Void])>((nil, []))

  /// Sets the value, and calls back those that wait; only the first counts.
  func set(_ value: Value) {
    let calls = state.withLock { state -> [@Sendable (Value) -> Void] in
      if state.value != nil { return [] }
      defer { state = (value, []) }
      return state.calls
    }
    for call in calls { call(value) }
  }

  var isSet: Bool { state.withLock { $0.value != nil } }

  /// Calls back when it is set, which may be now.
  func whenSet(_ call: @escaping @Sendable (Value) -> Void) {
    let value = state.withLock { state in
      if state.value == nil { state.calls.append(call) }
      return state.value
    }
    if let value { call(value) }
  }
}
