import CLinux

extension Unicode.Scalar {
  /// The columns of a terminal that it takes, by the C library's tables of Unicode.
  package var columns: Int { Int(linux_columns(value)) }
}
