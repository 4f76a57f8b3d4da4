import Foundation

/// Collects a reply's bytes up to a limit.
final class ReplyBody {
  private(set) var data = Data()
  private(set) var isTooLarge = false
  private let maximumBytes: Int

  init(maximumBytes: Int) {
    self.maximumBytes = maximumBytes
  }

  /// Returns the number of bytes appended; anything but all of them makes libcurl give up.
  func append(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count <= maximumBytes - data.count else {
      isTooLarge = true
      return 0
    }
    data.append(contentsOf: bytes)
    return bytes.count
  }
}
