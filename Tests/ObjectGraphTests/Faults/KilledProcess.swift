import Foundation
import Glibc
import ObjectGraph
import ObjectGraphTesting
import Synchronization

/// Saves one step of a scenario after another until the process is killed on the way.
struct KilledProcess {
  let storePath: String
  let seed: UInt64
  /// How many steps of saves to take before.
  let step: Int
  /// What kind of step to be killed at then; at the next one if nil.
  let kind: FaultPoint.Step?
  /// How many microseconds after that; 0 kills right before the step, more somewhere in what follows.
  let delay: Int

  /// Where the number of each save goes that has returned.
  static func acknowledgements(_ storePath: String) -> String { storePath + ".acknowledged" }
  /// Where the last step before the end goes.
  static func lastStep(_ storePath: String) -> String { storePath + ".step" }

  func run() throws {
    let faults = StoreFaults()
    let count = Atomic(0)
    faults.beforeEachStep { [step, kind, delay, storePath] point in
      guard point.step != .read, count.wrappingAdd(1, ordering: .relaxed).newValue > step else { return }
      guard kind == nil || kind == point.step, !Self.isDoomed.exchange(true, ordering: .relaxed) else { return }
      Self.append("\(point.step.rawValue)\n", to: Self.lastStep(storePath))
      if delay == 0 { kill(getpid(), SIGKILL) } else { Self.killSoon(delay) }
    }
    var options = SQLiteStoreOptions()
    options.failure = faults.strike
    let coordinator = PersistentStoreCoordinator(model: try KillScenario.model())
    try coordinator.open(.sqlite(at: URL(fileURLWithPath: storePath), options: options))
    let context = ManagedObjectContext(coordinator: coordinator, name: "doomed")
    try context.performAndWait { context in
      var scenario = KillScenario(seed: seed)
      scenario.advance(to: try KillScenario.numbers("Ledger", context).last ?? 0)
      while true {
        // What was there at the start counts as acknowledged too.
        Self.append("\(scenario.saveCount)\n", to: Self.acknowledgements(storePath))
        try scenario.saveNext(in: context)
      }
    }
  }

  private static func append(_ text: String, to path: String) {
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    _ = Array(text.utf8).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    close(file)
  }

  /// Whether the end is on its way, which later steps must not put off.
  private static let isDoomed = Atomic(false)

  /// Lets the kernel kill this process, wherever it is by then.
  private static func killSoon(_ microseconds: Int) {
    var event = sigevent()
    event.sigev_notify = Int32(SIGEV_SIGNAL)
    event.sigev_signo = SIGKILL
    var timer: timer_t?
    var when = itimerspec()
    when.it_value.tv_nsec = microseconds * 1_000
    guard timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, timer_settime(timer, 0, &when, nil) == 0 else { abort() }
  }
}
