import Foundation
import ImageProtocol
import Jobs
import Synchronization
import SystemSupport

/// One job's use of the cache of pictures: it reuses those that exist, and adds its own.
final class PictureReuse: ImageReuse {
  private let cache: PictureCache
  /// A request for each output by itself, and for the placeholder.
  private let parts: [ImageRequest]
  /// Tells the parts apart in names of what is kept, whose descriptions have the whole truth.
  private let digits: [String]
  private let outputCount: Int
  private let limit: Int
  private let draft: String
  private let files: [Int32]
  let inputCopy: Int32
  /// The pictures that this job makes, and others may wait for, by the names under which they are kept.
  private let claimed = Mutex<[String: Int]>([:])

  /// Makes empty files for what is to be kept.
  ///
  /// - Parameters:
  ///   - request: what the job asks for, as far as it decides what the pictures are.
  ///   - limit: how large all pictures that are kept may be together, in bytes.
  init(_ cache: PictureCache, _ request: ImageRequest, limit: Int) throws {
    self.cache = cache
    self.limit = limit
    parts = Self.parts(of: request)
    digits = try parts.map(Self.digits)
    outputCount = request.outputs.count
    draft = try cache.makeDraft()
    var files: [Int32] = []
    for index in request.outputs.indices {
      files.append(try FileDescriptor.open("\(draft)/\(index)", .creatingExclusively, mode: 0o600).relinquish())
    }
    self.files = files
    let path = draft + "/input"
    let copy = try FileDescriptor.open(path, .creatingExclusively, mode: 0o600)
    try FileManager.default.removeItem(atPath: path)
    inputCopy = copy.relinquish()
  }

  private static func parts(of request: ImageRequest) -> [ImageRequest] {
    var part = request
    part.wantsPlaceholder = false
    var parts = request.outputs.map { output in
      part.outputs = [output]
      return part
    }
    (part.outputs, part.wantsPlaceholder) = ([], true)
    if request.wantsPlaceholder { parts.append(part) }
    return parts
  }

  /// The same for the same way to encode, and another for others.
  private static func digits(of part: ImageRequest) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    var hash = StableHash()
    hash.combine(Array(try encoder.encode(part)))
    return hash.digits
  }

  /// The file in which an output is to be kept; its number is valid while this object lives.
  func descriptor(ofOutput index: Int) -> Int32 { files[index] }

  func pictures(of input: ImageReply.Input) async -> KnownPictures {
    let names = digits.map { input.sha256 + "-" + $0 }
    let indices = Dictionary(zip(names, names.indices), uniquingKeysWith: { first, _ in first })
    var known: [String: KnownPicture] = [:]
    // In the same order in all jobs, or two could wait for each other.
    for (name, index) in indices.sorted(by: { $0.key < $1.key }) {
      known[name] = await cache.find(name, for: parts[index])
      if known[name] == nil { claimed.withLock { $0[name] = index } }
    }
    let pictures = names.map { known[$0] }
    return KnownPictures(
      outputs: Array(pictures.prefix(outputCount)), placeholder: pictures.dropFirst(outputCount).first ?? nil)
  }

  /// Keeps what was made.
  func keep(_ reply: ImageReply) throws {
    for (name, index) in claimed.withLock({ $0 }) {
      let output = reply.outputs.indices.contains(index) ? reply.outputs[index] : nil
      let kept = KeptPicture(
        request: parts[index], output: output, placeholder: output == nil ? reply.placeholder : nil)
      let content = try JSONEncoder().encode(kept)
      let bytes = output?.bytes ?? content.count
      guard bytes <= limit else { continue }
      let folder = "\(draft)/kept-\(index)"
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      if output != nil {
        try FileManager.default.moveItem(atPath: "\(draft)/\(index)", toPath: "\(folder)/\(KeptPicture.pictureName)")
      }
      let description = try FileDescriptor.open(
        "\(folder)/\(KeptPicture.fileName)", .creatingExclusively, mode: 0o600)
      try description.writeAll(content)
      try description.synchronize()
      try cache.keep(folder, as: name, bytes: bytes, limit: limit)
    }
  }

  deinit {
    for file in files + [inputCopy] { _ = FileDescriptor(owning: file) }
    for name in claimed.withLock({ $0 }).keys { cache.finish(name) }
    // The picture is gone from the cache; a later start removes files that can't be removed now.
    try? FileManager.default.removeItem(atPath: draft)
  }
}
