import ObjectGraph

/// Calls back when a file is written to, by whomever, until it is dropped. It costs nothing while nothing happens.
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
