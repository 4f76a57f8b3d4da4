extension Directory {
  /// Visits the names of all entries except `.` and `..`, in the file system's order, in constant memory.
  ///
  /// Entries created or removed meanwhile may or may not be seen. Each call scans from the beginning, independently of
  /// other scans of this directory.
  ///
  /// - Parameter body: Returns false to stop.
  /// - Throws: ``SystemError``, or what `body` throws.
  package func forEachEntry(_ body: (FileName) throws -> Bool) throws {
    let scan = try DirectoryScan(self)
    while let name = try scan.next() {
      if try !body(name) { return }
    }
  }

  /// The names of all entries; for directories known to be small.
  package func entries() throws(SystemError) -> [FileName] {
    let scan = try DirectoryScan(self)
    var names: [FileName] = []
    while let name = try scan.next() { names.append(name) }
    return names
  }
}
