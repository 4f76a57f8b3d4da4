import ControlClient
import StatusReplies
import TextSupport

/// `bobbinctl fleet`: the hosts that share a database.
struct FleetCommand: Subcommand {
  static let name = "fleet"
  static let usage = "fleet [--json]"
  static let summary = "List the hosts of the fleet and what they run"
  static let details = """
    Any host of the fleet answers for all of them, from the database that they share. The lead assigns jobs to hosts; when
    it has been silent for 3.5 seconds, another host takes its place.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("fleet takes no argument, not \"\(operand)\"") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "fleet"))
    if session.printsJSON { return .success }
    let fleet = try reply.decoded(as: FleetReply.self)
    var table = Table(columns: [
      .init(title: "HOST"), .init(title: "SPOOL", isFlexible: true), .init(title: "RUNNING"), .init(title: "SLOTS"),
      .init(title: "LAST BEAT"), .init(title: "PLACES", isFlexible: true), .init(title: "NOTE"),
    ])
    table.rows = fleet.hosts.map { host in
      let notes = (host.isLead ? ["lead"] : []) + (host.number == fleet.host ? ["this host"] : [])
      return [
        .init("\(host.number)"), .init(host.spool), .init("\(host.running)"), .init("\(host.slots)"),
        .init(sentence: TimeSpan.words(seconds: host.silenceSeconds) + " ago"),
        .init(host.places.joined(separator: " ")), .init(sentence: notes.joined(separator: ", ")),
      ]
    }
    try session.output.write(table)
    if !fleet.hosts.contains(where: \.isLead) {
      session.output.note("no host leads at the moment, so that no jobs are assigned")
    }
    let counts = fleet.jobs.sorted { $0.key < $1.key }.filter { $0.value > 0 }.map { "\($0.value) \($0.key)" }
    try session.output.write("unfinished jobs: \(counts.isEmpty ? "none" : counts.joined(separator: ", "))\n")
    return .success
  }
}
