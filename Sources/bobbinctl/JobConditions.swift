import Foundation
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// The conditions by which jobs are listed, and by which commands mean all that meet them.
struct JobConditions {
  static let options = [
    Option(
      "--state", .required("STATE"), help: "Only jobs in this state, such as running; may be repeated",
      isRepeatable: true),
    Option("--type", .required("TYPE"), help: "Only jobs of this type, such as import"),
    Option("--queue", .required("QUEUE"), help: "Only jobs of this queue"),
    Option("--batch", .required("BATCH"), help: "Only jobs of this batch"),
    Option("--submitter", .required("USER"), help: "Only jobs of this user, by name or number"),
    Option("--since", .required("TIME"), help: "Only jobs that were accepted then or later"),
    Option("--until", .required("TIME"), help: "Only jobs that were accepted before"),
    Option("--file", .required("NAME"), help: "Only jobs of the job file with this name"),
    Option("--text", .required("TEXT"), help: "Only jobs with this in their ID, file name or error"),
    Option(
      "--argument", .required("KEY=VALUE"), help: "Only jobs with this value of an argument; may be repeated",
      isRepeatable: true),
  ]
  static let details = """
    CONDITION is --state, --type, --queue, --batch, --submitter, --since, --until, --file, --text or --argument with its
    value. TIME is when a job was accepted: a day such as 2026-11-21, a minute such as "2026-11-21 10:00", both in the
    local time zone, a moment such as 2026-11-21T10:00:00Z, or how long ago, such as 2h or "1d 12h".
    """

  let states: [String]
  /// The other conditions, by the names that the daemon knows.
  private let values: [(name: String, value: String)]
  private let submitter: UInt32?
  private let arguments: [(name: String, value: String)]

  var isEmpty: Bool { states.isEmpty && values.isEmpty && submitter == nil && arguments.isEmpty }

  init(_ arguments: inout ParsedArguments) {
    states = arguments.all("--state")
    let texts = ["type", "queue", "batch", "file", "text"].map { ($0, arguments["--" + $0]) }
    let times = ["since", "until"].map { ($0, arguments.moment("--" + $0)) }
    values = (texts + times).compactMap { name, value in value.map { (name: name, value: $0) } }
    submitter = arguments.user("--submitter")
    self.arguments = arguments.all("--argument").compactMap { (text) -> (name: String, value: String)? in
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if parts.count == 2, !parts[0].isEmpty { return (parts[0], parts[1]) }
      arguments.addProblem("--argument takes KEY=VALUE, not \"\(text)\"")
      return nil
    }
    let names = self.arguments.map(\.name)
    if Set(names).count < names.count { arguments.addProblem("--argument takes each KEY once") }
  }

  /// The query of a list.
  var query: [URLQueryItem] {
    (states.isEmpty ? [] : [URLQueryItem(name: "state", value: states.joined(separator: ","))])
      + values.map { URLQueryItem(name: $0.name, value: $0.value) }
      + (submitter.map { [URLQueryItem(name: "submitter", value: String($0))] } ?? [])
      + arguments.map { URLQueryItem(name: "argument." + $0.name, value: $0.value) }
  }

  /// The `where` of a command.
  var json: JSONValue {
    var object: JSONObject = [:]
    if let state = states.first {
      object["state"] = states.count == 1 ? .string(state) : .array(states.map(JSONValue.string))
    }
    for (name, value) in values { object[name] = .string(value) }
    if let submitter { object["submitter"] = .integer(Int64(submitter)) }
    if !arguments.isEmpty {
      object["argument"] = .object(arguments.reduce(into: JSONObject()) { $0[$1.name] = .string($1.value) })
    }
    return .object(object)
  }
}

extension ParsedArguments {
  /// An option's value as a moment in the form that the daemon reads; nil if it is missing, or wrong, which becomes a
  /// problem.
  fileprivate mutating func moment(_ name: String) -> String? {
    guard let text = self[name] else { return nil }
    if let date = TimeText().moment(text) { return Timestamp(date).text }
    addProblem("\(name) takes a time such as 2026-11-21, \"2026-11-21 10:00\", yesterday or 2h, not \"\(text)\"")
    return nil
  }

  /// An option's value as the number of a user; nil if it is missing, or nobody's, which becomes a problem.
  fileprivate mutating func user(_ name: String) -> UInt32? {
    guard let text = self[name] else { return nil }
    if let number = UInt32(text) { return number }
    do throws(SystemError) {
      if let account = try UserAccount.find(text) { return account.user }
      addProblem("\(name): there is no user \"\(text)\"")
    } catch { addProblem("\(name): the user database can't be asked: \(error)") }
    return nil
  }
}
