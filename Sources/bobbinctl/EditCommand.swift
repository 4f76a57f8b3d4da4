import ControlClient
import Foundation
internal import Glibc
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl edit`: changes the arguments of a job that does not run.
struct EditCommand: Subcommand {
  static let name = "edit"
  static let usage = "edit [--json] [--arguments JSON|FILE] [--unset KEY] [--priority N] ID [KEY=VALUE]..."
  static let summary = "Change the arguments of a job that does not run"
  static let details = """
    KEY is a path of keys, and of numbers from 0 in lists: outputs.0.width=300. VALUE is JSON, and what is no JSON is a
    text: input=people.csv, header=true; a text that looks like JSON stands in quotes, code='"007"'. New relative paths start
    at the working directory. Without any change, on a terminal, the arguments are opened in $VISUAL or $EDITOR.

    The new arguments are checked as those of a new job. A job that runs or is over is not changed: "bobbinctl hold" ends an
    attempt, and "bobbinctl submit --replace" runs an ID anew.
    """
  static let options = [
    Option(
      "--arguments", .required("JSON|FILE"),
      help: "All arguments anew: an object, a file with one, or - for standard input"),
    Option("--unset", .required("KEY"), help: "Take an argument away; may be repeated", isRepeatable: true),
    Option("--priority", .required("N"), help: "The new priority, from -100 to 100"),
  ]

  private let identifier: String
  private let settings: JSONObject
  private let unset: [String]
  private let arguments: String?
  private let priority: Int?

  init(_ arguments: inout ParsedArguments) {
    identifier = arguments.operands.first ?? ""
    if identifier.isEmpty { arguments.addProblem("an ID is missing: \(Self.usage)") }
    var settings: JSONObject = [:]
    for operand in arguments.operands.dropFirst() {
      let parts = operand.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count < 2 || parts[0].isEmpty {
        arguments.addProblem("a change is KEY=VALUE, not \"\(operand)\"")
      } else if settings[String(parts[0])] != nil {
        arguments.addProblem("\"\(parts[0])\" is given twice")
      } else {
        settings[String(parts[0])] = (try? JSONValue(parsing: Array(parts[1].utf8))) ?? .string(String(parts[1]))
      }
    }
    self.settings = settings
    unset = arguments.all("--unset")
    self.arguments = arguments["--arguments"]
    priority = arguments.number("--priority", in: -100...100)
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    var edited: EditedFile?
    guard var change = try change(session, &edited) else {
      session.output.note("nothing was changed")
      return .success
    }
    let path = ControlClient.path("v1", "jobs", identifier, "edit")
    let directory = FileManager.default.currentDirectoryPath
    // A working directory that was removed has no path.
    if !directory.isEmpty, change.keys.contains(where: { $0 != "priority" }) {
      change["directory"] = .string(directory)
    }
    let reply: Reply
    do throws(ToolError) { reply = try session.post(path, .object(change), refusal: .refused) } catch {
      throw edited?.keeping(error) ?? error
    }
    edited?.remove()
    if session.printsJSON { return .success }
    let id = try reply.decoded(as: EditReply.self).id
    try session.output.write("edited     \(displayName(id))\n")
    return .success
  }

  /// The body of the request; nil if an editor was left without a change.
  ///
  /// - Parameter file: what an editor has left, if one was opened.
  private func change(_ session: Session, _ file: inout EditedFile?) throws(ToolError) -> JSONObject? {
    var body: JSONObject = [:]
    if let arguments { body["arguments"] = try Self.arguments(arguments) }
    if !settings.isEmpty { body["set"] = .object(settings) }
    if !unset.isEmpty { body["unset"] = .array(unset.map(JSONValue.string)) }
    if let priority { body["priority"] = .integer(Int64(priority)) }
    if !body.isEmpty { return body }
    guard session.output.terminal.isTerminal else {
      throw ToolError(
        .usage, "nothing is to be changed",
        hint: "give KEY=VALUE, --unset, --arguments or --priority; on a terminal the arguments are opened in $EDITOR")
    }
    let reply = try session.withoutJSON.get(ControlClient.path("v1", "jobs", identifier))
    let seen = try reply.document()["arguments"] ?? .object([:])
    let (edited, left) = try ArgumentEditor().edit(seen)
    if edited == seen {
      left.remove()
      return nil
    }
    file = left
    return ["arguments": edited, "seen": seen]
  }

  /// Arguments that are given as JSON, or as a file with it.
  private static func arguments(_ given: String) throws(ToolError) -> JSONValue {
    let isText = given.drop { $0.isWhitespace }.first == "{"
    do throws(ToolError) {
      return try parse(isText ? Data(given.utf8) : JobFileInput.read(given))
    } catch {
      throw isText ? error.about("--arguments") : error.about(given == "-" ? "standard input" : given)
    }
  }

  fileprivate static func parse(_ data: Data) throws(ToolError) -> JSONValue {
    do throws(JSONError) { return try JSONValue(parsing: Array(data), dialect: .json5) } catch {
      throw ToolError(.refused, "line \(error.line): \(error.message)")
    }
  }
}

/// A file with what was typed in an editor. It stays where that is refused or the editor fails, so that nothing has to
/// be typed again.
private struct EditedFile {
  let path: String

  func remove() { unlink(path) }

  /// The error, with where the text is.
  func keeping(_ error: ToolError) -> ToolError {
    let place = "what you have typed is in \(path), which --arguments takes"
    return ToolError(error.code, error.message, hint: error.hint.map { "\($0); \(place)" } ?? place)
  }
}

/// The user's editor, in which arguments are changed.
private struct ArgumentEditor {
  /// Opens a value in the editor, and waits until that is closed.
  func edit(_ value: JSONValue) throws(ToolError) -> (JSONValue, EditedFile) {
    let path = NSTemporaryDirectory() + "/bobbin-arguments-\(UUID().uuidString).json"
    let edited = EditedFile(path: path)
    let text = Data((value.serialized(pretty: true) + "\n").utf8)
    // It is closed before the editor starts, which inherits no descriptor of it.
    do throws(SystemError) { try FileDescriptor.open(path, .creatingExclusively).writeAll(text) } catch {
      edited.remove()
      throw failure("\(path) can't be written: \(error.code)")
    }
    do throws(ToolError) { try open(path) } catch {
      if let typed = FileManager.default.contents(atPath: path), typed != text { throw edited.keeping(error) }
      edited.remove()
      throw error
    }
    do throws(ToolError) { return (try EditCommand.parse(JobFileInput.read(path)), edited) } catch {
      throw edited.keeping(error.about("the edited arguments"))
    }
  }

  private func open(_ path: String) throws(ToolError) {
    let environment = ProcessInfo.processInfo.environment
    let editor = ["VISUAL", "EDITOR"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? "vi"
    // A shell, as the variable may have options; the editor shares this terminal, and so this process group. The trap keeps a
    // shell alive that has started the editor as a child of its own, which gets the keys with default handling all the same.
    var arguments = Self.copies(of: ["sh", "-c", "trap : INT QUIT; \(editor) \"$1\"", "sh", path])
    var variables = Self.copies(of: environment.map { "\($0)=\($1)" })
    defer { for text in arguments + variables { free(text) } }
    // Keys such as Ctrl-C signal all of the group; they are for the editor alone, which starts with default handling.
    let keys = [SIGINT, SIGQUIT]
    let handlers = keys.map { signal($0, SIG_IGN) }
    defer { for (key, handler) in zip(keys, handlers) { signal(key, handler) } }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var child: pid_t = 0
    guard posix_spawn(&child, "/bin/sh", nil, &attributes, &arguments, &variables) == 0 else {
      throw failure("the editor \"\(editor)\" can't be started")
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    if status != 0 { throw failure("the editor \"\(editor)\" failed; nothing was changed") }
  }

  /// Copies in C, with a null at their end.
  private static func copies(of texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
    var copies: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
    copies.append(nil)
    return copies
  }

  private func failure(_ message: String) -> ToolError { ToolError(.unreadableFile, message) }
}
