import Glibc
import ImageProtocol
import Jobs
import SystemSupport

/// An output in the making: its arguments, and the files that the helper writes.
struct EncodedOutput {
  let arguments: ImageOutputArguments
  let file: OutputFile?
  let stored: StoredPicture?
  /// The number of the descriptor of a file that is kept for reuse.
  var kept: Int32?

  /// The numbers of the descriptors that the helper writes to.
  var descriptors: [Int32] { [file?.descriptor, stored?.descriptor, kept].compactMap { $0 } }

  /// The output as the helper's request has it.
  var picture: ImageOutput {
    var picture = arguments.picture
    picture.fileCount = descriptors.count
    return picture
  }

  /// True if the file's name is known before the picture is.
  var isNamed: Bool { arguments.path?.fixed != nil }

  /// Returns the place of the file, after checking that it can be written; nil if there is no file.
  ///
  /// - Parameter path: with its placeholders filled in, or nil if it has none.
  func place(at path: String? = nil) throws -> OutputPlace? {
    try file?.place(named: name(in: path))
  }

  /// Brings what the helper has written to the disk, while the helper has another picture.
  ///
  /// - Parameter number: the output's place among those of the job, from 1.
  func synchronize(number: Int) throws(ImageError) {
    for descriptor in descriptors {
      do throws(SystemError) { try systemCall("fsync") { fsync(descriptor) } } catch {
        throw ImageError(.output, "output \(number) can't be synced to the disk: \(error)", permanent: false)
      }
    }
  }

  func publish(as path: String, after check: () throws -> Void) throws {
    try file?.publish(as: name(in: path), after: check)
  }

  private func name(in path: String?) -> String? {
    isNamed ? nil : path?.split(separator: "/").last.map(String.init)
  }

  /// The path of each output with its placeholders filled in; nil for one without a file.
  static func paths(of outputs: [EncodedOutput], _ reply: ImageReply, input: String) -> [String?] {
    zip(outputs, reply.outputs).map { output, picture in
      output.arguments.path?.filled { output.arguments.value(of: $0, picture, input: input) }
    }
  }

  /// Refuses outputs of which one would replace another, however their paths are spelled.
  static func refuseSamePlaces(_ places: [OutputPlace?]) throws {
    var identities: [OutputPlace.Identity: Int] = [:]
    for (index, place) in places.enumerated() {
      guard let place else { continue }
      let identity: OutputPlace.Identity
      do throws(SystemError) { identity = try place.identity() } catch {
        throw JobFailure("the output \(place.name) can't be written: \(error)", isPermanent: error.isLasting)
      }
      if let earlier = identities.updateValue(index, forKey: identity) {
        throw JobFailure(
          "outputs \(earlier + 1) and \(index + 1) are both called \(place.name); "
            + "put something into their paths that differs, such as {width} or {preset}")
      }
    }
  }
}

extension ImageOutputArguments {
  /// Returns the text for a placeholder.
  fileprivate func value(
    of placeholder: OutputPath.Placeholder, _ picture: ImageReply.Output, input: String
  ) -> String {
    switch placeholder {
    case .name: Self.nameWithoutEnding(of: input)
    case .width: String(picture.width)
    case .height: String(picture.height)
    case .format: picture.format.nameEndings.first ?? picture.format.rawValue
    case .preset: preset ?? ""
    case .sha256: picture.sha256
    }
  }

  private static func nameWithoutEnding(of path: String) -> String {
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return String(name) }
    return String(name[..<dot])
  }
}
