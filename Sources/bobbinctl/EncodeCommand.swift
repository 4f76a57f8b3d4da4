import Foundation
import JSONText
import SystemSupport
import TextSupport

/// `bobbinctl encode`: makes jobs of the type image.encode for pictures, and submits them.
struct EncodeCommand: Subcommand {
  static let name = "encode"
  static let usage =
    "encode [OPTION...] INPUT... OUTPUT, encode [OPTION...] --output-dir DIR [--to FORMAT] INPUT..."
  static let summary = "Make other pictures of pictures: submit a job of the type image.encode for each"
  static let details = """
    OUTPUT is a file whose ending tells the format, for several inputs with a placeholder such as {name} in its name, or a
    folder. In a folder an output has the name of its input, and with --to the ending of that format. With
    --preset, OUTPUT may be left out if the preset has a path. Several inputs are a batch, which "bobbinctl watch" follows.
    INPUT may be a pattern in quotes, or - for standard input, which needs --wait.

    Options are those of Documentation/Images.md under the same names, --to is its "format". What the jobs could not read
    or write is told at once. --wait, --dry-run and the exit codes are those of "submit".
    """

  /// Arguments of the output.
  static let outputKeys = [
    ArgumentOption(
      Option("--to", .required("jpeg|png|webp|avif|heif|tiff|gif"), help: "The format (default: by OUTPUT)"),
      key: "format"),
    ArgumentOption(Option("--width", .required("N"), help: "Pixels; alone it keeps the picture's shape"), .number),
    ArgumentOption(Option("--height", .required("N"), help: "Pixels; alone it keeps the picture's shape"), .number),
    ArgumentOption(
      Option("--fit", .required("inside|cover|fill|pad"), help: "How it fits both (default: inside)")),
    ArgumentOption(
      Option("--crop", .required("centre|attention|entropy"), help: "What stays where cover cuts (default: centre)")),
    ArgumentOption(
      Option("--background", .required("COLOUR"), help: "Around the picture, and behind transparent parts")),
    ArgumentOption(Option("--enlarge", .none, help: "Let small pictures grow"), .flag),
    ArgumentOption(Option("--animated", .none, help: "Take all frames of a GIF or WebP"), .flag),
    ArgumentOption(Option("--quality", .required("N"), help: "1 to 100 (default: the format's)"), .number),
    ArgumentOption(Option("--effort", .required("N"), help: "1, fast, to 10, small"), .number),
    ArgumentOption(Option("--lossless", .none, help: "Lose nothing, as WebP, AVIF or HEIF"), .flag),
    ArgumentOption(Option("--progressive", .none, help: "Let it appear in passes"), .flag),
    ArgumentOption(Option("--compression", .required("N"), help: "0 to 9, for PNG"), .number),
    ArgumentOption(Option("--palette", .none, help: "At most 256 colours, for PNG"), .flag),
    ArgumentOption(Option("--max-bytes", .required("SIZE"), help: "Lower the quality until it fits, as 60K"), .number),
    ArgumentOption(
      Option(
        "--metadata", .required("none|all|icc|copyright"), help: "What is kept, also icc,copyright (default: none)"),
      .list),
    ArgumentOption(Option("--colours", .required("srgb|keep"), help: "Whether they are converted (default: srgb)")),
    ArgumentOption(Option("--mode", .required("MODE"), help: "The file's permission bits, such as 640")),
    ArgumentOption(Option("--preset", .required("PRESET"), help: "What a section [ImagePreset] of bobbin.conf says")),
  ]

  /// Arguments of the job.
  static let jobKeys = [
    ArgumentOption(
      Option("--auto-orient", .required("yes|no"), help: "Turn it as its orientation tag says (default: yes)"), .yesOrNo
    ),
    ArgumentOption(
      Option("--fail-on", .required("none|error|warning"), help: "Of which faults nothing is made (default: error)")),
    ArgumentOption(Option("--reuse", .none, help: "Take outputs from earlier jobs with the same input"), .flag),
  ]

  static let options =
    [Option("--output-dir", .required("DIR"), help: "Put all outputs into DIR, named as their inputs")]
    + (outputKeys + jobKeys).map(\.option) + MadeJobs.options

  private let inputs: [String]
  /// The output or folder as it is given; nil to leave it to the preset.
  private let output: String?
  private let isFolder: Bool
  private let outputValues: JSONObject
  private let jobValues: JSONObject
  private let jobs: MadeJobs

  init(_ arguments: inout ParsedArguments) {
    outputValues = Self.outputKeys.values(in: arguments)
    jobValues = Self.jobKeys.values(in: arguments)
    jobs = MadeJobs(&arguments)
    let operands = arguments.operands
    let folder = arguments["--output-dir"]
    let isByPreset = operands.count == 1 && arguments.has("--preset")
    output = folder ?? (isByPreset ? nil : operands.last)
    inputs = folder != nil || isByPreset ? operands : operands.dropLast()
    isFolder = output.map { Self.isFolder($0, isStated: folder != nil) } ?? false
    if inputs.isEmpty || operands.contains("") {
      arguments.addProblem("an input or an output is missing: \(Self.usage)")
    }
    if inputs.contains("-") {
      if inputs.count > 1 || isFolder {
        arguments.addProblem("standard input is one picture, and needs a file as OUTPUT")
      }
      jobs.checkStandardInput(&arguments)
    }
  }

  private static func isFolder(_ path: String, isStated: Bool) -> Bool {
    isStated || path.hasSuffix("/") || InputFiles.isFolder(InputFiles.absolute(path)) == true
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    if !jobs.isDryRun { try JobAccess.checkOutputs(in: folders, session) }
    if inputs == ["-"] {
      return try KeptInput.use(session) { (path) throws(ToolError) in try submit([path], session) }
    }
    let inputs = try InputFiles.expand(inputs)
    if !jobs.isDryRun { try JobAccess.checkInputs(inputs, session) }
    return try submit(inputs, session)
  }

  private func submit(_ inputs: [String], _ session: Session) throws(ToolError) -> ExitCode {
    var places: [String: String] = [:]
    var made: [JSONObject] = []
    for input in inputs {
      let path = path(of: input)
      if let path, let other = places.updateValue(input, forKey: Self.resolved(path, for: input)) {
        throw ToolError(
          .usage, "\(other) and \(input) would both become \(Self.resolved(path, for: input))",
          hint: "give OUTPUT a name with {name}, or take inputs with other names")
      }
      var values = outputValues
      values["path"] = path.map(JSONValue.string)
      var arguments: JSONObject = ["input": .string(input), "outputs": .array([.object(values)])]
      for (key, value) in jobValues { arguments[key] = value }
      made.append(["type": "image.encode", "arguments": .object(arguments)])
    }
    return try jobs.submit(made, areTogether: false, named: Self.name, session)
  }

  /// The path of an input's output, as jobs have it.
  private func path(of input: String) -> String? {
    guard let output else { return nil }
    let place = InputFiles.absolute(output)
    guard isFolder else { return place }
    let folder = place.hasSuffix("/") ? place : place + "/"
    if outputValues["format"] != nil { return folder + "{name}.{format}" }
    // A name with braces means itself.
    return folder + input.lastComponent.replacing("{", with: "{{").replacing("}", with: "}}")
  }

  /// The path as far as it tells an output from those of other inputs.
  private static func resolved(_ path: String, for input: String) -> String {
    let name = input.lastComponent
    let stem = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? String(name[..<$0]) : nil } ?? name
    // Only the job knows its width, height and hash.
    if path.lastComponent.contains("{sha256}") { return input }
    return path.replacing("{name}", with: stem)
  }

  /// The folders of the outputs.
  private var folders: Set<String> {
    guard let output else { return [] }
    let place = InputFiles.absolute(output)
    return [isFolder ? place : place.parentFolder]
  }
}

extension String {
  /// The part of a path behind the last slash.
  var lastComponent: String { String(split(separator: "/", omittingEmptySubsequences: false).last ?? "") }

  /// The folder of an absolute path.
  fileprivate var parentFolder: String {
    let end = lastIndex(of: "/") ?? startIndex
    return end == startIndex ? "/" : String(self[..<end])
  }
}
