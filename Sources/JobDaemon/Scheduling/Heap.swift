/// A binary heap: the least element is at hand, adding and taking it cost the logarithm of their number.
struct Heap<Element: Comparable> {
  /// Each element is not greater than its two children, at twice its index plus one and two.
  private var elements: [Element] = []

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

  /// Takes the least element.
  @discardableResult
  mutating func pop() -> Element? {
    guard let first = elements.first else { return nil }
    let last = elements.removeLast()
    if elements.isEmpty { return first }
    elements[0] = last
    var parent = 0
    while true {
      var next = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < elements.count {
        if elements[child] < elements[next] { next = child }
      }
      if next == parent { return first }
      elements.swapAt(parent, next)
      parent = next
    }
  }
}
