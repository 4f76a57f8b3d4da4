/// Mounts that only one process and its children see.
package enum SeparateMounts {
  /// The beginning of a command that has them; needs root.
  ///
  /// What it mounts shows nowhere else. What others unmount goes away here too, if its place is shared, as that of a
  /// ``DaemonTesting/DiskImage`` is: a copy would keep the file system alive.
  package static let wrapper = ["/usr/bin/unshare", "--mount", "--propagation", "slave"]
}
