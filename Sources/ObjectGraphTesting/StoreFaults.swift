public import SQLiteStore
import Synchronization

/// Makes a store fail where a test wants it to, with its disk, its lock and its file as they are.
///
///     let faults = StoreFaults()
///     var options = SQLiteStoreOptions()
///     options.failure = faults.strike
///     ...
///     faults.fail(with: .full, at: .commit)
///     #expect(throws: StoreError.self) { try context.save() }
///
/// A failed step is undone by the store as a real failure would be. May be used from any thread.
public final class StoreFaults: Sendable {
  fileprivate struct Armed: Sendable {
    let fault: StoreFault
    let step: FaultPoint.Step?
    /// The number of fitting steps to let pass.
    var skipped: Int
    /// The number of steps to fail after that.
    var times: Int
  }

  fileprivate struct State {
    var armed: [Armed] = []
    var passed: [FaultPoint.Step] = []
    var watcher: (@Sendable (FaultPoint) -> Void)?
  }

  private let state = Mutex(State())

  /// A store that works, until it is told where to fail.
  public init() {}

  /// Fails at each step of a kind from now on, or at the next ones only.
  ///
  /// - Parameters:
  ///   - fault: what the store fails with.
  ///   - step: where.
  ///   - skipped: how many steps of that kind succeed before.
  ///   - times: how often; for good if nil.
  public func fail(with fault: StoreFault, at step: FaultPoint.Step, after skipped: Int = 0, times: Int? = 1) {
    state.withLock { $0.armed.append(Armed(fault: fault, step: step, skipped: skipped, times: times ?? .max)) }
  }

  /// Fails at one step of saves, whatever it is: the next one is number 0. Reads are not counted.
  public func fail(with fault: StoreFault, atStatement number: Int) {
    state.withLock { $0.armed.append(Armed(fault: fault, step: nil, skipped: number, times: 1)) }
  }

  /// Lets the store work again.
  public func clear() { state.withLock { $0.armed = [] } }

  /// Calls a body before each step, on the thread that takes it: to hold the store up, or to end the process there.
  public func beforeEachStep(_ body: (@Sendable (FaultPoint) -> Void)?) { state.withLock { $0.watcher = body } }

  /// The steps that were come to since the last call, those that failed included.
  public func drainSteps() -> [FaultPoint.Step] {
    state.withLock { state in
      defer { state.passed = [] }
      return state.passed
    }
  }

  /// Decides about a step; for `SQLiteStoreOptions.failure`.
  @Sendable public func strike(_ point: FaultPoint) -> StoreFault? {
    let watcher = state.withLock { state in
      state.passed.append(point.step)
      return state.watcher
    }
    watcher?(point)
    return state.withLock { $0.strike(point.step) }
  }
}

extension StoreFaults.State {
  fileprivate mutating func strike(_ step: FaultPoint.Step) -> StoreFault? {
    var struck: StoreFault?
    for place in armed.indices where armed[place].step.map({ $0 == step }) ?? (step != .read && step != .committed) {
      if armed[place].skipped > 0 {
        armed[place].skipped -= 1
      } else if struck == nil, armed[place].times > 0 {
        armed[place].times -= 1
        struck = armed[place].fault
      }
    }
    armed.removeAll { $0.times == 0 }
    return struck
  }
}
