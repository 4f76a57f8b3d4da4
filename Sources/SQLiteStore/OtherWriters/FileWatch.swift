import StoreInterface

/// Calls back at the next write to a file, by whomever, unless it is dropped before. It costs nothing until then.
final class FileWatch: Sendable {
  private let inotify: SharedInotify
  private let descriptor: Int32
  private let number: Int

  /// - Parameter handler: is called on a queue of all watches, and must be quick.
  init(_ path: String, _ handler: @escaping @Sendable () -> Void) throws(StoreError) {
    inotify = try SharedInotify.shared.get()
    (descriptor, number) = try inotify.add(path, handler)
  }

  deinit { inotify.remove(descriptor, number) }
}
