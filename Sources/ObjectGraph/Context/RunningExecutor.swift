/// The executor whose work the calling thread does, as an address to compare; the innermost one if there are several.
enum RunningExecutor {
  private static let pointer = ThreadPointer()

  static var current: UnsafeRawPointer? {
    get { UnsafeRawPointer(pointer.value) }
    set { pointer.value = UnsafeMutableRawPointer(mutating: newValue) }
  }
}
