import Glibc

/// One entry's name in a directory, as the bytes the kernel gave; they need not be UTF-8.
package struct FileName: Hashable, Sendable {
  /// The bytes without a terminating zero.
  package let bytes: [UInt8]

  /// - Parameter bytes: Taken as they are up to the first zero byte, which no name can contain.
  package init(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes.prefix { $0 != 0 })
  }

  /// True if this names one entry of a directory: not empty, `.` or `..`, without a slash, at most 255 bytes.
  package var isSingleComponent: Bool {
    !bytes.isEmpty && bytes.count <= 255 && !bytes.contains(UInt8(ascii: "/")) && self != "." && self != ".."
  }

  /// True if the name starts with a dot.
  package var isHidden: Bool { bytes.first == UInt8(ascii: ".") }

  /// The name as text, or nil when it isn't UTF-8.
  package var string: String? { String(validating: bytes, as: UTF8.self) }

  /// True if the name matches a pattern with `*`, `?` and `[...]`, as a shell's does; see glob(7).
  package func matches(_ pattern: String) -> Bool { withCString { fnmatch(pattern, $0, FNM_PERIOD) } == 0 }

  /// The name with `suffix` behind it.
  package func appending(_ suffix: String) -> FileName {
    FileName(bytes: bytes + Array(suffix.utf8))
  }

  /// Calls `body` with the name as a C string.
  func withCString<Result, Failure: Error>(
    _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // A local array's buffer lives until the end of this function and ends with the zero added here.
    let terminated = (bytes + [0]).map { CChar(bitPattern: $0) }
    let outcome = terminated.withUnsafeBufferPointer { buffer -> Swift.Result<Result, Failure> in
      guard let start = buffer.baseAddress else { preconditionFailure("an array of one byte has an address") }
      do throws(Failure) { return .success(try body(start)) } catch { return .failure(error) }
    }
    return try outcome.get()
  }
}

extension FileName: ExpressibleByStringLiteral {
  package init(stringLiteral value: String) {
    self.init(value)
  }

  package init(_ text: String) {
    self.init(bytes: text.utf8)
  }
}

extension FileName: CustomStringConvertible {
  /// The name escaped for printing.
  package var description: String { displayName(bytes) }
}

extension FileName: Comparable {
  /// Orders by bytes.
  package static func < (left: FileName, right: FileName) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}
