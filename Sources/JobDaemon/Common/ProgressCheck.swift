import Synchronization

/// Finds parts of the daemon that hang, by a look at all of them again and again.
///
/// A part goes on if it has answered a call in its turn since the last look, or has done something: one without work answers
/// at once.
final class ProgressCheck: Sendable {
  /// A part that is looked at.
  struct Part: Sendable {
    let name: String
    /// The looks in a row without any sign of the part after which it hangs.
    var patience = 1
    /// Calls back behind whatever the part is doing.
    let call: @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
    /// A number that changes while the part works.
    var work: @Sendable () -> UInt64 = { 0 }
  }

  private struct Sign {
    var isAwaited = false
    var work: UInt64 = 0
    var missed = 0
  }

  private let parts: [Part]
  private let signs: Mutex<[Sign]>

  init(_ parts: [Part]) {
    self.parts = parts
    signs = Mutex(Array(repeating: Sign(), count: parts.count))
  }

  /// Looks at all parts, and returns the names of those that hang.
  func look() -> [String] {
    var hanging: [String] = []
    for (index, part) in parts.enumerated() {
      let work = part.work()
      let (isAwaited, missed) = signs.withLock { signs in
        let sign = signs[index]
        let isAlive = !sign.isAwaited || sign.work != work
        signs[index] = Sign(isAwaited: true, work: work, missed: isAlive ? 0 : sign.missed + 1)
        return (sign.isAwaited, signs[index].missed)
      }
      if !isAwaited { part.call { [weak self] in self?.signs.withLock { $0[index].isAwaited = false } } }
      if missed >= part.patience { hanging.append(part.name) }
    }
    return hanging
  }
}
