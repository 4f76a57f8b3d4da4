import Foundation
import ImageProtocol
import Jobs
import Synchronization
import SystemSupport

/// One job's share in pictures that are kept: it takes those that are there, or leaves its own.
final class PictureReuse: ImageReuse {
  private let cache: PictureCache
  private let request: ImageRequest
  private let limit: Int
  private let draft: String
  private let files: [Int32]
  let inputCopy: Int32
  /// The name under which this job makes pictures that others may wait for.
  private let claimed = Mutex<String?>(nil)

  /// Makes empty files for what is to be kept.
  ///
  /// - Parameters:
  ///   - request: what the job asks for, as far as it decides what the pictures are.
  ///   - limit: how large all pictures that are kept may be together, in bytes.
  init(_ cache: PictureCache, _ request: ImageRequest, limit: Int) throws {
    self.cache = cache
    self.request = request
    self.limit = limit
    draft = try cache.makeDraft()
    var files: [Int32] = []
    for index in request.outputs.indices {
      files.append(try FileDescriptor.open("\(draft)/\(index)", .creatingExclusively, mode: 0o600).take())
    }
    self.files = files
    let path = draft + "/input"
    let copy = try FileDescriptor.open(path, .creatingExclusively, mode: 0o600)
    try FileManager.default.removeItem(atPath: path)
    inputCopy = copy.take()
  }

  /// The file that an output is to be kept in; its number is valid while this object lives.
  func descriptor(ofOutput index: Int) -> Int32 { files[index] }

  func pictures(of input: ImageReply.Input) async -> KnownPictures? {
    let name = name(for: input)
    if let known = await cache.find(name, for: request) { return known }
    claimed.withLock { $0 = name }
    return nil
  }

  /// Keeps what was made.
  func keep(_ reply: ImageReply) throws {
    guard let name = claimed.withLock({ $0 }), !reply.isReused else { return }
    let bytes = reply.outputs.reduce(0) { $0 + $1.bytes }
    guard bytes <= limit else { return }
    let kept = KeptPictures(request: request, outputs: reply.outputs, placeholder: reply.placeholder)
    let description = try FileDescriptor.open(
      "\(draft)/\(KeptPictures.fileName)", .creatingExclusively, mode: 0o600)
    try description.writeAll(try JSONEncoder().encode(kept))
    try description.synchronize()
    try cache.keep(draft, as: name, bytes: bytes, limit: limit)
  }

  /// The same for the same bytes, and another for other ways to encode them; the description has the whole truth.
  private func name(for input: ImageReply.Input) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    var hash = StableHash()
    hash.combine((try? encoder.encode(request)).map(Array.init) ?? [])
    return input.sha256 + "-" + hash.digits
  }

  deinit {
    for file in files + [inputCopy] { _ = FileDescriptor(owning: file) }
    if let name = claimed.withLock({ $0 }) { cache.finish(name) }
    // What was kept is no longer there; a later start removes what can't be removed now.
    try? FileManager.default.removeItem(atPath: draft)
  }
}
