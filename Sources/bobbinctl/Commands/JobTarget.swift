import JSONText

/// The jobs that a command applies to: some by their IDs, or all that meet conditions.
struct JobTarget {
  static let options = [
    Option("--state", .required("STATE"), "All jobs in this state; may be repeated", isRepeatable: true),
    Option("--type", .required("TYPE"), "All jobs of this type"),
    Option("--queue", .required("QUEUE"), "All jobs of this queue"),
    Option("--batch", .required("BATCH"), "All jobs of this batch"),
  ]
  static let usage = "ID... | [--state STATE] [--type TYPE] [--queue QUEUE] [--batch BATCH]"

  /// The key and value that the daemon is sent.
  let member: (key: String, value: JSONValue)

  init(_ arguments: inout ParsedArguments, identifiers: [String]) {
    var conditions: JSONObject = [:]
    let states = arguments.all("--state")
    if let state = states.first {
      conditions["state"] = states.count == 1 ? .string(state) : .array(states.map(JSONValue.string))
    }
    for name in ["type", "queue", "batch"] {
      if let value = arguments["--" + name] { conditions[name] = .string(value) }
    }
    if identifiers.isEmpty == conditions.isEmpty {
      arguments.addProblem(
        identifiers.isEmpty
          ? "say which jobs are meant: \(Self.usage)" : "give either IDs, or --state, --type, --queue and --batch")
    }
    if identifiers.contains("") { arguments.addProblem("an ID can't be empty") }
    member = identifiers.isEmpty ? ("where", .object(conditions)) : ("jobs", .array(identifiers.map(JSONValue.string)))
  }
}
