import Dispatch
import SystemSupport

/// The choice of names in `new/` to be claimed, and when.
extension Intake {
  /// Names that one step of a scan reads; they are claimed in sorted order.
  private static let scanChunk = 4_096
  /// The delay before a scan for files that were still being written, when there are too many to remember.
  private static let overflowDelay = DispatchTimeInterval.seconds(5)

  func notice(_ events: [DirectoryEvent]) {
    state.withLock { state in
      for event in events {
        switch event {
        case .entry(let name):
          state.unfinished.forget(name)
          state.names.add(name, .event)
        case .created(let name): state.names.add(name, .created)
        case .rescan(let reason):
          log.warning("the watch on new/ lost events (\(reason)); scanning")
          state.names.scanLater()
        }
      }
      // The scan at the end of a pause finds them all; until then they must not cost memory.
      if !state.pauses.isEmpty { state.names.forget() }
    }
    workSoon()
  }

  /// Scans `new/` again; called when a name may be free, or a pause has ended.
  func rescan() {
    state.withLock { $0.names.scanLater() }
    workSoon()
  }

  /// Continues the scan of `new/`, or begins one that is wanted, unless there are names already.
  func scanFurther() {
    while true {
      let (isWanted, running) = state.withLock { state in
        state.names.isEmpty ? (state.scan != nil || state.names.beginScan(), state.scan) : (false, nil)
      }
      guard isWanted else { return }
      do throws(SystemError) {
        let scan: DirectoryScan
        if let running { scan = running } else { scan = try DirectoryScan(spool.new) }
        let (chunk, isOver) = try Self.chunk(of: scan)
        state.withLock { state in
          state.scan = isOver ? nil : scan
          state.names.add(scanned: chunk)
        }
      } catch {
        state.withLock { $0.scan = nil }
        log.error("new/ can't be read: \(error)")
        if !error.isLasting { rescan(after: Self.retryDelay) }
      }
    }
  }

  private static func chunk(of scan: DirectoryScan) throws(SystemError) -> (names: [FileName], isLast: Bool) {
    var names: [FileName] = []
    while names.count < scanChunk {
      guard let name = try scan.next() else { return (names.sorted(), true) }
      if !name.isHidden { names.append(name) }
    }
    return (names.sorted(), false)
  }

  /// Scans `new/` again after a while, however often this is asked for meanwhile.
  func rescan(after delay: DispatchTimeInterval) {
    let isFirst = state.withLock { state in
      defer { state.isRescanArmed = true }
      return !state.isRescanArmed
    }
    guard isFirst else { return }
    queue.asyncAfter(deadline: .now() + delay) { [weak self] in
      self?.state.withLock { $0.isRescanArmed = false }
      self?.rescan()
    }
  }

  /// Schedules another look at a file that is still being written: its close raises an event, but see
  /// ``UnfinishedFiles``.
  func lookAgain(at name: FileName) {
    let (delay, isFull) = state.withLock { ($0.unfinished.delay(for: name), $0.unfinished.isFull) }
    if let delay {
      queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in
        self?.state.withLock { $0.names.add(name, $0.unfinished.isLast(name) ? .event : .scan) }
        self?.workSoon()
      }
    } else if isFull {
      rescan(after: Self.overflowDelay)
    }
  }
}
