import ControlClient
import Foundation
import StatusReplies
import TextSupport

/// The offer of a shell for the word at the cursor, made with the tables that the commands are parsed by.
struct Completion {
  /// A choice of what can be put in the place of a word.
  enum Offer: Equatable {
    case values([Candidate])
    /// Files, which the shell finds itself.
    case files
    case folders
  }

  struct Candidate: Equatable {
    let value: String
    var note = ""
  }

  /// The meaning of a word in capitals, in usages and as the value of options.
  enum Meaning {
    case file, folder, job, queue, type, batch, state, schedule, entity, attribute, relationship, host
    /// Something that only people know.
    case free
  }

  static let meanings: [String: Meaning] = [
    "FILE": .file, "PATH": .file, "INPUT": .file, "OUTPUT": .file, "FROM": .file, "TO": .file, "DIR": .folder,
    "ID": .job, "QUEUE": .queue, "TYPE": .type, "BATCH": .batch, "STATE": .state, "SCHEDULE": .schedule,
    "ENTITY": .entity, "HOST": .host, "BUNDLE": .file, "OLD": .file, "NEW": .file, "BACKUP": .folder,
    "ATTRIBUTE": .attribute, "RELATIONSHIP": .relationship, "CHARACTER": .free, "COLOUR": .free, "COLUMN": .free,
    "COLUMN=ENTITY.KEY": .free, "CONDITION": .free, "CURSOR": .free, "FORMAT": .free, "JSON": .free, "KEY": .free,
    "KEY=VALUE": .free, "KIND": .free,
    "MODE": .free, "N": .free, "NAME": .free, "NAME=ATTRIBUTE": .free, "NAME=FILE": .free, "OPTION": .free,
    "PLACE": .free,
    "POLICY": .free, "PREDICATE": .free, "PRESET": .free, "ROLE": .free, "SHARE": .free, "SIZE": .free, "TEXT": .free,
    "TIME": .free,
    "USER": .free,
    "VALUE": .free, "WORD": .free,
  ]

  private let words: [String]
  private let current: String

  /// - Parameter words: Those behind the program's name, the last being the one to be completed, as far as it is typed.
  init(_ words: [String]) {
    self.words = words.dropLast()
    current = words.last ?? ""
  }

  /// - Parameter output: For the daemon that the words name, which is asked for what it knows.
  func offer(_ output: Output) -> Offer {
    let general = ParsedArguments(words, options: Tool.options, stopsAtOperand: true)
    let isHelp = general.operands.first == "help"
    let name = isHelp ? nil : general.operands.first
    let command = Tool.commands.first { $0.name == name }
    // Behind an unknown command nothing is known.
    if name != nil, command == nil { return .values([]) }
    let options = (command?.options ?? []) + Tool.options
    let typed = ParsedArguments(command == nil ? words : general.rest, options: options)
    let session = Session(
      root: typed["--root"] ?? general["--root"], socket: typed["--socket"] ?? general["--socket"], printsJSON: false,
      output: output)
    let source = CandidateSource(session, command: command?.name, operand: typed.operands.first)
    if let option = optionBefore(options) { return values(of: option, typed: current, prefix: "", source) }
    if current.hasPrefix("-"), !words.contains("--") {
      if let end = current.firstIndex(of: "="), let option = options.first(where: { $0.name == current[..<end] }) {
        let typed = String(current[current.index(after: end)...])
        return values(of: option, typed: typed, prefix: option.name + "=", source)
      }
      let left = options.filter { $0.isRepeatable || !typed.has($0.name) }
      return matching(left.map { Candidate(value: $0.name, note: $0.help) })
    }
    guard let command else {
      let help = isHelp ? [] : [Candidate(value: "help", note: "Explain a command")]
      return matching(Tool.commands.map { Candidate(value: $0.name, note: $0.summary) } + help)
    }
    let next = Synopsis(command).next(after: typed.operands)
    if !next.actions.isEmpty { return matching(next.actions.map { Candidate(value: $0) }) }
    guard let word = next.word else { return .values([]) }
    return offer(word, typed: current, prefix: "", without: typed.operands, source)
  }

  /// The option whose value is the word at the cursor.
  private func optionBefore(_ options: [Option]) -> Option? {
    guard let last = words.last, !words.dropLast().contains("--"),
      let option = options.first(where: { $0.name == last }), case .required = option.value
    else { return nil }
    return option
  }

  private func values(of option: Option, typed: String, prefix: String, _ source: CandidateSource) -> Offer {
    switch option.value {
    case .none: .values([])
    case .required(let word), .optional(let word): offer(word, typed: typed, prefix: prefix, without: [], source)
    }
  }

  /// - Parameters:
  ///   - word: What is asked for, or all that may be chosen, with bars between.
  ///   - prefix: What stands before it in the same word of the shell.
  private func offer(
    _ word: String, typed: String, prefix: String, without given: [String], _ source: CandidateSource
  ) -> Offer {
    var candidates: [Candidate]
    if word.contains("|") {
      candidates = word.split(separator: "|").map {
        Candidate(value: word == word.uppercased() ? $0.lowercased() : String($0))
      }
    } else {
      switch Self.meanings[word] ?? .free {
      case .file: return .files
      case .folder: return .folders
      case let meaning: candidates = source.candidates(meaning)
      }
    }
    candidates.removeAll { given.contains($0.value) || !$0.value.hasPrefix(typed) }
    return .values(candidates.map { Candidate(value: prefix + $0.value, note: $0.note) })
  }

  private func matching(_ candidates: [Candidate]) -> Offer {
    .values(candidates.filter { $0.value.hasPrefix(current) })
  }
}

/// The names that the daemon knows; nothing if it does not answer at once.
struct CandidateSource {
  private static let states = [
    "available", "scheduled", "waiting", "held", "running", "retryable", "completed", "cancelled", "discarded",
    "quarantined",
  ]

  /// The states of jobs that a command does something with; all, if it is not listed.
  private static let jobStates: [String: String] = [
    "cancel": "available,scheduled,waiting,held,running,retryable,quarantined",
    "hold": "available,scheduled,waiting,running,retryable", "release": "held",
    "retry": "completed,cancelled,discarded,scheduled,retryable", "redrive": "quarantined",
    "priority": "available,scheduled,waiting,held,running,retryable", "delete": "completed,cancelled,discarded",
    "edit": "available,scheduled,waiting,held,retryable",
    "watch": "available,scheduled,waiting,held,running,retryable",
  ]

  private let session: Session
  private let command: String?

  /// The command's first operand.
  private let operand: String?

  init(_ session: Session, command: String?, operand: String?) {
    (self.session, self.command, self.operand) = (session, command, operand)
  }

  func candidates(_ meaning: Completion.Meaning) -> [Completion.Candidate] {
    switch meaning {
    case .file, .folder, .free: []
    case .state: Self.states.map { Completion.Candidate(value: $0) }
    case .job: jobs(limit: 200, all: false).map { .init(value: $0.id, note: "\($0.type), \($0.state.rawValue)") }
    case .batch: named(jobs(limit: 1_000, all: true).compactMap(\.batch))
    case .queue: named((queues?.queues.map(\.name) ?? []) + jobs(limit: 1_000, all: true).compactMap(\.queue))
    case .type: named((queues?.types.map(\.name) ?? []) + jobs(limit: 1_000, all: true).map(\.type))
    case .schedule: named(get(SchedulesReply.self, "schedules")?.schedules.map(\.name) ?? [])
    case .entity: named(entities.map(\.name))
    case .attribute: named(queried?.attributes.map(\.name) ?? [])
    case .relationship: named(queried?.relationships?.map(\.name) ?? [])
    case .host: named(get(FleetReply.self, "fleet")?.hosts.map(\.spool) ?? [])
    }
  }

  /// The entities that the command can do something with.
  private var entities: [EntitiesReply.Entity] {
    let reply = get(EntitiesReply.self, "entities")
    return (reply?.entities ?? []) + (command == QueryCommand.name ? reply?.readOnly ?? [] : [])
  }

  private var queried: EntitiesReply.Entity? {
    command == QueryCommand.name ? entities.first { $0.name == operand } : nil
  }

  /// Each name once, in their order.
  private func named(_ names: [String]) -> [Completion.Candidate] {
    var known: Set<String> = []
    return names.filter { known.insert($0).inserted }.map { .init(value: $0) }
  }

  private var queues: QueuesReply? { self.get(QueuesReply.self, "queues") }

  /// The newest jobs; those that the command does something with, unless all are wanted.
  private func jobs(limit: Int, all: Bool) -> [JobReply] {
    var query = [URLQueryItem(name: "limit", value: "\(limit)")]
    if !all, let states = command.flatMap({ Self.jobStates[$0] }) {
      query.append(URLQueryItem(name: "state", value: states))
    }
    if !all, command == RejectsCommand.name { query.append(URLQueryItem(name: "type", value: "import")) }
    return get(JobsReply.self, "jobs", query: query)?.jobs ?? []
  }

  private func get<Value: Decodable>(_ type: Value.Type, _ path: String, query: [URLQueryItem] = []) -> Value? {
    // Whoever presses a key does not want to wait, and an error has no place on a line that is being typed.
    let reply = try? Reply.received(
      from: session.client, "GET", ControlClient.path("v1", path), query: query, timeout: .seconds(1))
    return try? reply?.accepted(refusal: .unavailable).decoded(as: type)
  }
}
