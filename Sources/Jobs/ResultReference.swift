package import JSONText

/// A place in a job's arguments that takes a value of the result of a job before it:
/// `{"from": "people", "result": "outputs.0.path"}`.
struct ResultReference: Sendable, Hashable {
  /// The path of the place, as errors name it: `arguments.input`.
  let place: String
  /// The ID of the job that has the result.
  let job: String
  /// The path of the value in the result; empty for the whole.
  let path: String

  /// Any object with these two keys, both of them texts, and no others.
  private init?(_ value: JSONValue, at place: String) {
    guard let object = value.object, object.count == 2, let job = object["from"]?.string,
      let path = object["result"]?.string
    else { return nil }
    (self.place, self.job, self.path) = (place, job, path)
  }

  /// Returns arguments with other values in the places of their references.
  static func replacing<Failure>(
    in value: JSONValue, at place: String = "arguments",
    with replacement: (ResultReference) throws(Failure) -> JSONValue
  ) throws(Failure) -> JSONValue {
    switch value {
    case .array(let values):
      var replaced: [JSONValue] = []
      for (index, value) in values.enumerated() {
        replaced.append(try replacing(in: value, at: "\(place).\(index)", with: replacement))
      }
      return .array(replaced)
    case .object(let object):
      if let reference = ResultReference(value, at: place) { return try replacement(reference) }
      var replaced = object
      for (key, value) in object { replaced[key] = try replacing(in: value, at: place + "." + key, with: replacement) }
      return .object(replaced)
    default: return value
    }
  }

  /// The references in arguments.
  static func all(in arguments: JSONValue) -> [ResultReference] {
    if !mayContainAny(arguments) { return [] }
    var found: [ResultReference] = []
    _ = replacing(in: arguments) { reference in
      found.append(reference)
      return .null
    }
    return found
  }

  /// A look that makes nothing, as most jobs have no reference.
  private static func mayContainAny(_ value: JSONValue) -> Bool {
    switch value {
    case .array(let values): values.contains(where: mayContainAny)
    case .object(let object): object.contains { $0.key == "from" || mayContainAny($0.value) }
    default: false
    }
  }

  /// Takes the value out of the job's result.
  func value(in result: JSONValue) throws(JobFailure) -> JSONValue {
    var value = result
    var reached = "the result"
    for step in path.split(separator: ".") {
      let name = String(step)
      guard let next = Self.member(name, of: value) else {
        throw failure("the result of the job \"\(job)\" has no \"\(path)\": \(reached) \(Self.contents(of: value))")
      }
      value = next
      reached = reached == "the result" ? "\"\(name)\"" : "\(reached.dropLast()).\(name)\""
    }
    return value
  }

  private static func member(_ name: String, of value: JSONValue) -> JSONValue? {
    guard let list = value.array else { return value[name] }
    guard let index = Int(name), list.indices.contains(index) else { return .none }
    return list[index]
  }

  func failure(_ message: String) -> JobFailure { JobFailure("\"\(place)\": \(message)") }

  /// The contents of a value that is no more than that, for people.
  private static func contents(of value: JSONValue) -> String {
    if let list = value.array { return list.isEmpty ? "is an empty list" : "is a list of \(list.count), from 0" }
    guard let object = value.object else { return "is \(value.kindName)" }
    if object.isEmpty { return "is an empty object" }
    return "has " + object.keys.prefix(20).joined(separator: ", ") + (object.count > 20 ? ", ..." : "")
  }
}

extension JobSpecification {
  /// Checks arguments that may have references to results which are not there yet.
  ///
  /// Each reference is taken for a text, a number or a truth value, whichever passes. What passes with none of them, or
  /// is wrong together with a reference, is left to the check of the attempt.
  /// - Parameter check: the handler's.
  package func checkArguments(_ check: (JSONValue) throws(JobFileError) -> Void) throws(JobFileError) {
    let references = ResultReference.all(in: arguments)
    var standIns: [ResultReference: Int] = [:]
    while true {
      let trial = ResultReference.replacing(in: arguments) { Self.standIns[standIns[$0] ?? 0] }
      do throws(JobFileError) { return try check(trial) } catch {
        let key = (error.key ?? "") + "."
        guard references.contains(where: { key.hasPrefix($0.place + ".") || ($0.place + ".").hasPrefix(key) }) else {
          throw error
        }
        guard let wrong = references.first(where: { key.hasPrefix($0.place + ".") }),
          (standIns[wrong] ?? 0) + 1 < Self.standIns.count
        else { return }
        standIns[wrong, default: 0] += 1
      }
    }
  }

  private static let standIns: [JSONValue] = ["reference", 1, true]

  /// Makes local names in references global ones.
  package mutating func renameReferences(_ global: (String) -> String) {
    if ResultReference.all(in: arguments).isEmpty { return }
    arguments = ResultReference.replacing(in: arguments) { reference in
      ["from": .string(global(reference.job)), "result": .string(reference.path)]
    }
  }
}

extension JobFileReader {
  /// Checks that a job comes after those whose results its arguments take.
  func checkReferences(of job: JobSpecification, _ path: [String]) throws(JobFileError) {
    for reference in ResultReference.all(in: job.arguments) where !job.after.contains(reference.job) {
      throw error(
        "takes a result of the job \"\(reference.job)\", which is not in \"after\"; add it there",
        path + reference.place.split(separator: ".").map(String.init))
    }
  }
}
