import Dispatch
import Foundation
import Synchronization

/// The one thread that starts child processes, and that lives as long as this process.
///
/// A child's parent-death signal is sent when the *thread* that started it ends. Dispatch ends its idle threads, which
/// would kill healthy helpers, so children are started here.
final class SpawnThread: Sendable {
  static let shared = SpawnThread()

  private let requests = Mutex<[SpawnRequest]>([])
  private let available = DispatchSemaphore(value: 0)

  private init() {
    let thread = Thread { [self] in
      while true {
        available.wait()
        requests.withLock { $0.removeFirst() }.perform()
      }
    }
    thread.name = "spawn"
    thread.start()
  }

  /// Starts a child and returns its process ID; waits for the start, which takes about a millisecond.
  func spawn(_ launch: ChildLaunch) throws(SystemError) -> Int32 {
    let request = SpawnRequest(launch)
    requests.withLock { $0.append(request) }
    available.signal()
    return try request.outcome()
  }
}

/// One start, requested on one thread and made on another.
private final class SpawnRequest: Sendable {
  private let launch: ChildLaunch
  private let result = Mutex<Result<Int32, SystemError>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  init(_ launch: ChildLaunch) {
    self.launch = launch
  }

  func perform() {
    let outcome = Result { () throws(SystemError) in try launch.spawn() }
    result.withLock { $0 = outcome }
    done.signal()
  }

  func outcome() throws(SystemError) -> Int32 {
    done.wait()
    guard let outcome = result.withLock({ $0 }) else { preconditionFailure("signalled before there was an outcome") }
    return try outcome.get()
  }
}
