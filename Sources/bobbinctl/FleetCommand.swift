import ControlClient
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl fleet`: the hosts that share a database, and what is to become of one of them.
struct FleetCommand: Subcommand {
  static let name = "fleet"
  static let usage =
    "fleet [--json] [drain HOST | undrain HOST | remove [--move | --cancel] HOST | finish-upgrade [--dry-run]]"
  static let summary = "List the hosts of the fleet and what they run, drain one, remove it, or finish an upgrade"
  static let details = """
    Any host of the fleet answers for all of them, from the database that they share. The lead assigns jobs to hosts; when
    it has been silent for 3.5 seconds, another host takes its place. HOST is a number of the list, the name of a host, or
    its name with its spool.

    drain gives a host no more jobs; what it runs is finished, and files in its spool are taken as before. It holds, also
    when the host is started again, until undrain.

    remove is for a host that is gone for good: drain it, and stop its daemon, unless it is dead. Jobs that only it could
    run, since their files lie there, need a word: with --move any host runs them, which has to see the same files; with
    --cancel they are cancelled. What else came to its spool runs anywhere, as before.

    finish-upgrade is the end of an upgrade host by host: from then on the hosts share what only their new release knows,
    and older ones can't join any more. It is refused while a host is alive whose release is older.
    """
  static let options = [
    Option("--move", .none, help: "Have any host run the jobs that only the removed one could run"),
    Option("--cancel", .none, help: "Cancel the jobs that only the removed host could run"),
    Option("--dry-run", .none, help: "Tell what the end of an upgrade would change, and change nothing"),
  ]

  private enum Action: String {
    case drain, undrain, remove
    case finishUpgrade = "finish-upgrade"
  }

  private let action: Action?
  private let host: String
  private let fate: String?
  private let isTrial: Bool

  init(_ arguments: inout ParsedArguments) {
    action = arguments.operands.first.flatMap(Action.init)
    host = arguments.operands.dropFirst().first ?? ""
    let fates = ["move", "cancel"].filter { arguments.has("--" + $0) }
    fate = fates.first
    isTrial = arguments.has("--dry-run")
    let isWhole =
      action == .finishUpgrade ? arguments.operands.count == 1 : arguments.operands.count == 2 && !host.isEmpty
    if !arguments.operands.isEmpty, action == nil || !isWhole {
      arguments.addProblem("an action is expected, with a host if it is about one: \(Self.usage)")
    }
    if fates.count == 2 { arguments.addProblem("give --move or --cancel, not both") }
    if fate != nil, action != .remove { arguments.addProblem("--move and --cancel belong to remove") }
    if isTrial, action != .finishUpgrade { arguments.addProblem("--dry-run belongs to finish-upgrade") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    guard let action else { return try list(session) }
    var body: JSONObject = action == .finishUpgrade ? ["dryRun": .bool(isTrial)] : ["host": .string(host)]
    if let fate { body["jobs"] = .string(fate) }
    let reply = try session.post(
      ControlClient.path("v1", "fleet", action.rawValue), .object(body), refusal: .refused)
    if session.printsJSON { return .success }
    if action == .finishUpgrade {
      for line in try reply.decoded(as: UpgradeReply.self).lines { session.output.note(line) }
    } else {
      session.output.note(text(try reply.decoded(as: HostReply.self)))
    }
    return .success
  }

  /// A sentence that tells what was done with a host.
  private func text(_ done: HostReply) -> String {
    switch action {
    case .undrain, .finishUpgrade, nil: return "the host \(done.spool) is given jobs again"
    case .drain:
      return "the host \(done.spool) is given no more jobs, and finishes what it runs; "
        + "\"bobbinctl fleet undrain \(done.spool)\" ends that"
    case .remove:
      let count = done.jobs ?? 0
      let jobs = count == 1 ? "1 job" : "\(count) jobs"
      let what = fate == "move" ? "any host may run now" : count == 1 ? "is cancelled" : "are cancelled"
      return "the host \(done.spool) is removed" + (count == 0 ? "" : "; \(jobs) that only it could run \(what)")
    }
  }

  private func list(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "fleet"))
    if session.printsJSON { return .success }
    let fleet = try reply.decoded(as: FleetReply.self)
    var table = Table(columns: [
      .init(title: "HOST"), .init(title: "SPOOL", isFlexible: true), .init(title: "RUNNING"), .init(title: "SLOTS"),
      .init(title: "LAST BEAT"), .init(title: "PLACES", isFlexible: true), .init(title: "RELEASE"),
      .init(title: "NOTE"),
    ])
    let known = fleet.hosts.filter(\.isAlive).map(\.newestFormat)
    let newest = known.max() ?? fleet.format
    table.rows = fleet.hosts.map { host in
      [
        .init("\(host.number)"), .init(host.spool), .init("\(host.running)"), .init("\(host.slots)"),
        .init(sentence: TimeSpan.words(seconds: host.silenceSeconds) + " ago"),
        .init(host.places.joined(separator: " ")), .init(host.release),
        .init(
          sentence: host.notes(isAsked: host.number == fleet.host, isOlder: host.newestFormat < newest)
            .joined(separator: ", ")),
      ]
    }
    try session.output.write(table)
    if !fleet.hosts.contains(where: \.isLead) {
      session.output.note("no host leads at the moment, so that no jobs are assigned")
    }
    if let common = known.min(), common > fleet.format {
      session.output.note(
        "no living host has an older release any more; \"bobbinctl fleet finish-upgrade\" ends the upgrade")
    }
    let counts = fleet.jobs.sorted { $0.key < $1.key }.filter { $0.value > 0 }.map { "\($0.value) \($0.key)" }
    try session.output.write("unfinished jobs: \(counts.isEmpty ? "none" : counts.joined(separator: ", "))\n")
    try session.output.write("durability: \(fleet.durability)\n")
    for need in fleet.unmet {
      let jobs = need.jobs == 1 ? "1 job waits" : "\(need.jobs) jobs wait"
      try session.output.write(singleLine("\(jobs) for a host: \(need.reason)") + "\n")
    }
    return .success
  }
}

extension FleetReply.Host {
  /// - Parameters:
  ///   - isAsked: true if it is the host that has answered.
  ///   - isOlder: true if a living host knows a newer format of the ledger.
  fileprivate func notes(isAsked: Bool, isOlder: Bool) -> [String] {
    var notes: [String] = []
    if isLead { notes.append("lead") }
    if isAsked { notes.append("this host") }
    if !isAlive { notes.append("away") }
    if isDrained { notes.append("drained") }
    if isOlder { notes.append("older release") }
    if !isAlive, boundJobs > 0 { notes.append("\(counted(boundJobs, "job")) bound to it") }
    return notes
  }
}

extension UpgradeReply {
  /// Sentences that tell what was changed, or would be.
  fileprivate var lines: [String] {
    let older = holdingBack.map { "\($0.spool) (\($0.release)) knows no newer format" }
    if newFormat == format {
      return [
        "there is nothing to finish: the ledger of the fleet has format \(format), the newest that its hosts know"
      ]
    }
    let change = "format \(newFormat), not \(format) any more"
    let first =
      isDryRun
      ? "the ledger of the fleet would have \(change), and releases that know only that would be refused"
      : "the ledger of the fleet has \(change); releases that know only that are refused from now on"
    return [first] + older
      + shutOut.map { "\($0.spool), which is away, needs a newer release than \($0.release) to come back" }
  }
}
