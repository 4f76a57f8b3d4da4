import Synchronization

/// What happened, in order, from whichever thread.
final class Recorder<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])

  func append(_ element: Element) { elements.withLock { $0.append(element) } }

  /// Takes the first element out; nil if there is none.
  func popFirst() -> Element? { elements.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

  var all: [Element] { elements.withLock { $0 } }
}
