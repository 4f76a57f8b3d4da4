/// A binary heap: the least element is at hand; adding and removing one cost the logarithm of their number.
struct Heap<Element: Comparable> {
  /// Each element is not greater than its two children, at twice its index plus one and two.
  private(set) var elements: [Element] = []

  var isEmpty: Bool { elements.isEmpty }
  var count: Int { elements.count }
  var first: Element? { elements.first }

  mutating func push(_ element: Element) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard elements[child] < elements[parent] else { return }
      elements.swapAt(child, parent)
      child = parent
    }
  }

  /// Removes and returns the least element.
  @discardableResult
  mutating func pop() -> Element? {
    guard let first = elements.first else { return nil }
    let last = elements.removeLast()
    if elements.isEmpty { return first }
    elements[0] = last
    sink(0)
    return first
  }

  /// Keeps only some elements; linear in their number.
  mutating func keep(where isKept: (Element) -> Bool) {
    elements.removeAll { !isKept($0) }
    for parent in (0..<elements.count / 2).reversed() { sink(parent) }
  }

  private mutating func sink(_ index: Int) {
    var parent = index
    while true {
      var next = parent
      let child = 2 * parent + 1
      if child < elements.count && elements[child] < elements[next] { next = child }
      if child + 1 < elements.count && elements[child + 1] < elements[next] { next = child + 1 }
      if next == parent { return }
      elements.swapAt(parent, next)
      parent = next
    }
  }
}
