extension String {
  /// The absolute form of a path that starts at a folder if it is relative.
  ///
  /// Dots at its beginning are resolved, as the path of a working directory has no symbolic links (getcwd(3)); those
  /// behind a name are left to the kernel.
  package func absolutePath(from folder: String) -> String {
    if hasPrefix("/") { return self }
    var base = folder.split(separator: "/")
    var rest = split(separator: "/", omittingEmptySubsequences: false)[...]
    while let first = rest.first, rest.count > 1 ? ["", ".", ".."].contains(first) : [".", ".."].contains(first) {
      if first == ".." { _ = base.popLast() }
      rest.removeFirst()
    }
    return "/" + (base + rest).joined(separator: "/")
  }
}
