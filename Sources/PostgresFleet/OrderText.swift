import Fleet
import JSONText
import JobSchedule
import Jobs
import StoreInterface

/// Orders and their answers, in JSON; each tells its version. Jobs are their keys.
enum OrderText {
  private static let version: Int64 = 1

  // MARK: Orders

  static func text(of order: Order) -> String {
    var object: JSONObject = ["version": .integer(version)]
    switch order {
    case .pause(let resource, let isPaused):
      object["order"] = .string("pause")
      object["resource"] = json(resource)
      object["value"] = .bool(isPaused)
    case .command(let command, let targets):
      let (name, value) = words(command)
      object["order"] = .string(name)
      object["value"] = value
      object["jobs"] = .array(targets.map { .integer($0.job.key) })
      object["attempts"] = .array(targets.map { .integer(Int64($0.attempts)) })
    case .replace(let replacements):
      object["order"] = .string("replace")
      object["replacements"] = .array(replacements.map(JSONValue.init))
    case .edit(let change):
      object["order"] = .string("edit")
      object["change"] = JSONValue(change)
    case .ask(let question, let until):
      object["until"] = .integer(until)
      write(question, into: &object)
    case .unreadable: break
    }
    return JSONValue.object(object).serialized()
  }

  private static func write(_ question: Order.Question, into object: inout JSONObject) {
    switch question {
    case .explain(let job):
      object["order"] = .string("explain")
      object["job"] = .integer(job.key)
    case .find(let selection):
      object["order"] = .string("find")
      object["queue"] = selection.queue.map(JSONValue.string)
      object["type"] = selection.type.map(JSONValue.string)
      object["batch"] = selection.batch.map(JSONValue.string)
      object["states"] = .array(selection.states.map(\.rawValue).sorted().map(JSONValue.string))
      switch selection.page {
      case .newest(let offset, let limit):
        object["offset"] = .integer(Int64(offset))
        object["limit"] = .integer(Int64(limit))
      case .following(let key, let limit):
        object["after"] = .integer(key)
        object["limit"] = .integer(Int64(limit))
      }
    case .states(let jobs):
      object["order"] = .string("states")
      object["jobs"] = .array(jobs.map { .integer($0.key) })
    case .resources: object["order"] = .string("resources")
    }
  }

  private static func words(_ command: JobCommand) -> (name: String, value: JSONValue) {
    switch command {
    case .cancel(let reason): ("cancel", .string(reason))
    case .hold: ("hold", .null)
    case .release: ("release", .null)
    case .retry: ("retry", .null)
    case .redrive: ("redrive", .null)
    case .delete: ("delete", .null)
    case .setPriority(let priority): ("priority", .integer(Int64(priority)))
    }
  }

  /// - Parameter id: makes the ID of a job of its key.
  /// - Returns: ``Order/unreadable`` if the text is of a newer release, or damaged.
  static func order(_ text: String, id: (Int64) -> ManagedObjectID) -> Order {
    guard let object = JSONObject(text, version: version), let name = object["order"]?.string else {
      return .unreadable
    }
    return order(name, object, id: id) ?? .unreadable
  }

  private static func order(_ name: String, _ object: JSONObject, id: (Int64) -> ManagedObjectID) -> Order? {
    switch name {
    case "pause":
      guard let resource = object["resource"].flatMap(resource), let value = object["value"]?.bool else { return nil }
      return .pause(resource, value)
    case "explain", "find", "states", "resources":
      guard let until = object["until"]?.integer, let question = question(name, object, id: id) else { return nil }
      return .ask(question, until: until)
    case "replace":
      let given = object["replacements"]?.array ?? []
      let read = given.compactMap { JobReplacement($0, id: id) }
      return read.isEmpty || read.count < given.count ? nil : .replace(read)
    case "edit": return object["change"].flatMap { ArgumentChange($0, id: id) }.map { .edit($0) }
    default:
      guard let command = command(name, object["value"]), let jobs = object["jobs"]?.array,
        let attempts = object["attempts"]?.array, jobs.count == attempts.count
      else { return nil }
      return .command(
        command, zip(jobs, attempts).map { Order.Target(id($0.integer ?? 0), attempts: Int($1.integer ?? 1)) })
    }
  }

  private static func question(_ name: String, _ object: JSONObject, id: (Int64) -> ManagedObjectID) -> Order.Question?
  {
    if name == "resources" { return .resources }
    if name == "states" { return .states((object["jobs"]?.array ?? []).compactMap(\.integer).map(id)) }
    if let job = object["job"]?.integer { return .explain(id(job)) }
    guard let limit = object["limit"]?.integer else { return nil }
    let page: Schedule.Page? =
      object["after"]?.integer.map { .following($0, limit: Int(limit)) }
      ?? object["offset"]?.integer.map { .newest(offset: Int($0), limit: Int(limit)) }
    return page.map {
      .find(
        Order.Selection(
          queue: object["queue"]?.string, type: object["type"]?.string, batch: object["batch"]?.string,
          states: Set((object["states"]?.array ?? []).compactMap { $0.string.flatMap(JobState.init) }), page: $0))
    }
  }

  private static func command(_ name: String, _ value: JSONValue?) -> JobCommand? {
    switch name {
    case "cancel": value?.string.map { .cancel(reason: $0) }
    case "hold": .hold
    case "release": .release
    case "retry": .retry
    case "redrive": .redrive
    case "delete": .delete
    case "priority": value?.integer.map { .setPriority(Int($0)) }
    default: nil
    }
  }

  // MARK: Answers

  static func text(of answer: OrderAnswer.Content) -> String {
    var object: JSONObject = ["version": .integer(version)]
    switch answer {
    case .done: break
    case .outcomes(let outcomes): object["outcomes"] = .array(outcomes.map(json))
    case .explanation(let state, let obstacles):
      object["state"] = state.map { .string($0.rawValue) } ?? .null
      object["obstacles"] = .array(obstacles.map(json))
    case .found(let jobs, let total):
      object["found"] = .array(jobs.map { .array([.integer($0.job.key), .string($0.state.rawValue)]) })
      object["total"] = .integer(Int64(total))
    case .late: object["none"] = .string("late")
    case .unreadable: object["none"] = .string("unreadable")
    case .resources(let views): object["resources"] = .array(views.map(json))
    }
    return JSONValue.object(object).serialized()
  }

  private static func json(_ outcome: OrderAnswer.Outcome) -> JSONValue {
    switch outcome {
    case .done: .array([.string("done")])
    case .unknown: .array([.string("unknown")])
    case .impossible(let state): .array([.string("impossible"), .string(state.rawValue)])
    case .keyTaken(let state, let owner):
      .array([.string("key-taken"), .string(state.rawValue), .integer(owner.key)])
    case .needed(let state, let dependent):
      .array([.string("needed"), .string(state.rawValue), .integer(dependent.key)])
    case .begun: .array([.string("begun")])
    case .replacing: .array([.string("replacing")])
    case .changed: .array([.string("changed")])
    }
  }

  /// - Parameter id: makes the ID of a job of its key.
  /// - Returns: ``OrderAnswer/Content/unreadable`` if the text is of a newer release, or damaged.
  static func answer(_ text: String, id: (Int64) -> ManagedObjectID) -> OrderAnswer.Content {
    readableAnswer(text, id: id) ?? .unreadable
  }

  private static func readableAnswer(_ text: String, id: (Int64) -> ManagedObjectID) -> OrderAnswer.Content? {
    guard let object = JSONObject(text, version: version) else { return nil }
    if let reason = object["none"]?.string { return reason == "late" ? .late : .unreadable }
    if let outcomes = object["outcomes"]?.array {
      let read = outcomes.compactMap { outcome($0, id: id) }
      return read.count == outcomes.count ? .outcomes(read) : nil
    }
    if let obstacles = object["obstacles"]?.array {
      // One that only a newer release knows is left out.
      return .explanation(
        object["state"]?.string.flatMap(JobState.init), obstacles.compactMap { obstacle($0, id: id) })
    }
    if let found = object["found"]?.array {
      let jobs = found.compactMap { one -> OrderAnswer.FoundJob? in
        guard let one = one.array, one.count == 2, let key = one[0].integer, let state = one[1].string else {
          return nil
        }
        return JobState(rawValue: state).map { .init(job: id(key), state: $0) }
      }
      return .found(jobs, total: Int(object["total"]?.integer ?? 0))
    }
    if let views = object["resources"]?.array { return .resources(views.compactMap(resourceView)) }
    return .done
  }

  private static func outcome(_ value: JSONValue, id: (Int64) -> ManagedObjectID) -> OrderAnswer.Outcome? {
    guard let parts = value.array, let name = parts.first?.string else { return nil }
    let state = parts.dropFirst().first?.string.flatMap(JobState.init)
    switch name {
    case "done": return .done
    case "unknown": return .unknown
    case "impossible": return state.map { .impossible($0) }
    case "key-taken": return state.map { .keyTaken($0, owner: id(parts.last?.integer ?? 0)) }
    case "needed": return state.map { .needed($0, by: id(parts.last?.integer ?? 0)) }
    case "begun": return .begun
    case "replacing": return .replacing
    case "changed": return .changed
    default: return nil
    }
  }

  // MARK: Obstacles

  private static func json(_ obstacle: Schedule.Obstacle) -> JSONValue {
    let parts: (String, [JSONValue]) =
      switch obstacle {
      case .held: ("held", [])
      case .notBefore(let time): ("notBefore", [.integer(time)])
      case .backoff(let time): ("backoff", [.integer(time)])
      case .job(let id): ("job", [.integer(id.key)])
      case .unknownJob(let name): ("unknownJob", [.string(name)])
      case .batch(let name, let count): ("batch", [.string(name), .integer(Int64(count))])
      case .paused(let name): ("paused", [json(name)])
      case .concurrency(let name, let limit): ("concurrency", [json(name), .integer(Int64(limit))])
      case .rate(let name, let time): ("rate", [json(name), .integer(time)])
      case .place(let name): ("place", [json(name)])
      case .queue(let count): ("queue", [.integer(Int64(count))])
      }
    return .array([.string(parts.0)] + parts.1)
  }

  private static func obstacle(_ value: JSONValue, id: (Int64) -> ManagedObjectID) -> Schedule.Obstacle? {
    guard let parts = value.array, let name = parts.first?.string else { return nil }
    let (first, last) = (parts.dropFirst().first, parts.last?.integer)
    let named = first.flatMap(resource)
    switch name {
    case "held": return .held
    case "notBefore": return last.map { .notBefore($0) }
    case "backoff": return last.map { .backoff($0) }
    case "job": return last.map { .job(id($0)) }
    case "unknownJob": return first?.string.map { .unknownJob($0) }
    case "batch": return first?.string.map { .batch($0, unfinished: Int(last ?? 0)) }
    case "paused": return named.map { .paused($0) }
    case "concurrency": return named.map { .concurrency($0, limit: Int(last ?? 0)) }
    case "rate": return named.map { .rate($0, last ?? 0) }
    case "place": return named.map { .place($0) }
    case "queue": return last.map { .queue(Int($0)) }
    default: return nil
    }
  }

  // MARK: Resources

  private static func json(_ view: Schedule.ResourceView) -> JSONValue {
    let counts = view.counts.sorted { $0.key.rawValue < $1.key.rawValue }
    return .array([
      json(view.name), .bool(view.isPaused), view.concurrent.map { .integer(Int64($0)) } ?? .null,
      .integer(Int64(view.running)),
      .array(counts.map { .array([.string($0.key.rawValue), .integer(Int64($0.value))]) }),
    ])
  }

  private static func resourceView(_ value: JSONValue) -> Schedule.ResourceView? {
    guard let parts = value.array, parts.count == 5, let name = resource(parts[0]), let isPaused = parts[1].bool,
      let running = parts[3].integer, let counts = parts[4].array
    else { return nil }
    let known = counts.compactMap { count -> (JobState, Int)? in
      guard let state = count.array?.first?.string.flatMap(JobState.init), let number = count.array?.last?.integer
      else {
        return nil
      }
      return (state, Int(number))
    }
    return Schedule.ResourceView(
      name: name, isPaused: isPaused, concurrent: parts[2].integer.map { Int($0) }, running: Int(running),
      counts: Dictionary(known) { first, _ in first })
  }

  private static func json(_ resource: Resource.Name) -> JSONValue {
    let (kind, name) = resource.record
    return .array([.string(kind), .string(name)])
  }

  private static func resource(_ value: JSONValue) -> Resource.Name? {
    guard let parts = value.array, parts.count == 2, let kind = parts[0].string, let name = parts[1].string else {
      return nil
    }
    return Resource.Name(kind: kind, name: name)
  }
}
