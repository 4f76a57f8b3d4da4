/// A file or folder that a path leads to, opened as a path only, so that no rename can exchange it any more.
struct PathNode: ~Copyable {
  let descriptor: FileDescriptor
  let status: FileStatus
  /// The way to it without symbolic links, for messages.
  let place: String

  init(_ descriptor: consuming FileDescriptor, place: String) throws(SystemError) {
    status = try descriptor.status()
    self.descriptor = descriptor
    self.place = place
  }
}
