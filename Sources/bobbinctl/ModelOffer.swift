internal import Glibc
import SystemSupport
import TextSupport

/// The offer to make a model for a file whose entity the daemon does not know.
struct ModelOffer {
  let entity: String
  /// The file that the model is made of; nil for standard input.
  let file: String?
  /// Options of the inference, the entity among them.
  let options: [String]
  /// The daemon's folder of models; nil if it is not known where its files are.
  let models: String?

  /// Makes a model if somebody is there to want it, and always ends the import with what is to be done.
  func make(because missing: String, _ session: Session) throws(ToolError) {
    guard let file else { throw ToolError(.refused, missing, hint: "\(command("FILE")) makes a model; \(rest)") }
    guard isatty(STDIN_FILENO) == 1, session.output.showsProgress else {
      throw ToolError(.refused, missing, hint: "\(command(file)) makes a model; \(rest)")
    }
    session.output.note(missing)
    guard session.output.ask("make a model for \(displayName(file)) in this folder?") else {
      throw ToolError(.refused, "nothing is imported", hint: "\(command(file)) makes a model; \(rest)")
    }
    var arguments = ParsedArguments(["infer"] + options + ["--", file], options: ModelCommand.options)
    let inference = ModelCommand(&arguments)
    if let problem = arguments.problems.first { throw ToolError(.usage, problem) }
    _ = try inference.run(session)
    throw ToolError(.refused, "nothing is imported yet", hint: rest)
  }

  private func command(_ file: String) -> String {
    "\"bobbinctl model infer \(displayName((options + [file]).joined(separator: " ")))\""
  }

  /// The steps from the model to the import.
  private var rest: String {
    "look through \(entity).xcdatamodeld, copy it into \(models ?? "the daemon's models/"), "
      + "reload the daemon (the service: systemctl reload bobbind), and import again"
  }
}
