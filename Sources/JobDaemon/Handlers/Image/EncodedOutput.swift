import ImageProtocol
import Jobs
import SystemSupport

/// One output on its way: what the job says about it, and where the helper writes it to.
struct EncodedOutput {
  let arguments: ImageOutputArguments
  let file: OutputFile?
  let stored: StoredPicture?
  /// The number of the descriptor of a file that is kept for reuse.
  var kept: Int32?

  /// The numbers of the descriptors that the helper writes to.
  var descriptors: [Int32] { [file?.descriptor, stored?.descriptor, kept].compactMap { $0 } }

  /// What the helper is asked for.
  var picture: ImageOutput {
    var picture = arguments.picture
    picture.fileCount = descriptors.count
    return picture
  }

  func publish(as path: String) throws(JobFailure) {
    let name = path.split(separator: "/").last.map(String.init)
    try file?.publish(as: arguments.path?.isFixed == true ? nil : name)
  }

  /// The path of each output with its placeholders filled in; nil for one without a file.
  static func paths(
    of outputs: [EncodedOutput], _ reply: ImageReply, input: String
  ) throws(JobFailure) -> [String?] {
    var paths: [String?] = []
    for (output, picture) in zip(outputs, reply.outputs) {
      let path = output.arguments.path?.filled { output.arguments.value(of: $0, picture, input: input) }
      if let path, let index = paths.firstIndex(of: path) {
        throw JobFailure(
          "outputs \(index + 1) and \(paths.count + 1) are both called \(displayName(path)); "
            + "put something into their paths that differs, such as {width} or {preset}")
      }
      paths.append(path)
    }
    return paths
  }
}

extension ImageOutputArguments {
  /// What a placeholder stands for.
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
