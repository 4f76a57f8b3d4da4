internal import CVIPS
internal import Synchronization

/// What decoders have warned of since they were last asked, the newest last.
///
/// libpng's reasons are nowhere else: libvips passes them on to GLib's log, from any of its threads.
enum VipsWarnings {
  private static let latest = Mutex<[String]>([])
  /// Some files are good for one at each line of pixels.
  private static let most = 8

  /// Begins to listen, instead of the one whom libvips told to be silent.
  static func collect() {
    g_log_set_handler(
      "VIPS", G_LOG_LEVEL_WARNING,
      { _, _, message, _ in
        guard let message else { return }
        let text = String(cString: message)
        VipsWarnings.latest.withLock { latest in
          if latest.count == VipsWarnings.most { latest.removeFirst() }
          latest.append(text)
        }
      }, nil)
  }

  static func take() -> [String] {
    latest.withLock { latest in
      defer { latest = [] }
      return latest
    }
  }
}
