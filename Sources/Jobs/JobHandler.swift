public import JSONText

/// Does the work of all jobs of one type.
///
/// A handler works in the execution's private child context. What it leaves there is saved together with the job's
/// outcome, or dropped if it throws.
public protocol JobHandler: Sendable {
  /// The type of job that it handles, as job files name it.
  var type: String { get }

  /// True if it has effects beyond its context; the attempt is then on record before the handler starts.
  var hasOutsideEffects: Bool { get }

  /// The settings of jobs of this type that say nothing else.
  var settings: JobTypeSettings { get }

  /// Checks a job's arguments before the job is accepted. Must be quick and do no I/O.
  ///
  /// - Throws: ``JobFileError`` whose key is a path from the job: `arguments.input`.
  func validate(_ arguments: JSONValue) throws(JobFileError)

  /// The schema of its jobs' arguments, for people and programs that make jobs; nil if nothing is known of them.
  ///
  /// It is one of JSON Schema (2020-12), of an object; texts that are paths have the format `path`. What it allows may still
  /// be refused by ``validate(_:)``, which alone decides.
  var argumentSchema: JSONValue? { get }

  /// The paths that a job names; a relative one starts at the spool's folder `payload/`.
  ///
  /// In a fleet a job runs at the host whose spool it came to, unless all hosts see all of these. Must be quick and do
  /// no I/O.
  func paths(in arguments: JSONValue) -> [String]

  /// Those of ``paths(in:)`` that it only reads, by ``JobExecution/openInput(_:)`` with the same text.
  ///
  /// In a fleet they may be copied to the host that runs the job, as they are when it is accepted. Must be quick and do no
  /// I/O.
  func inputs(in arguments: JSONValue) -> [String]

  /// The arguments with changed texts in the places of those that are paths.
  ///
  /// So the relative paths of somebody who submits from a folder become absolute ones. Must be quick and do no I/O.
  func replacingPaths(in arguments: JSONValue, with change: (String) -> String) -> JSONValue

  /// Does the work.
  ///
  /// Called on the context's executor, which blocking work may occupy. A handler that is not `nonisolated(nonsending)`
  /// itself leaves it for the concurrent pool, and comes back inside `perform`.
  /// - Returns: the job's result, to be shown and kept.
  /// - Throws: ``JobFailure`` to say whether another attempt could help; any other error is taken for one that could.
  nonisolated(nonsending) func run(_ execution: JobExecution) async throws -> JSONValue

  /// Takes back what an attempt has saved with checkpoints, when the job is given up.
  ///
  /// It is given the execution with the last cursor, and may save checkpoints of its own.
  func revert(_ execution: JobExecution) async throws
}

extension JobHandler {
  /// Nothing is known of them.
  public var argumentSchema: JSONValue? { nil }
  /// True: whoever is not sure has some.
  public var hasOutsideEffects: Bool { true }
  /// All texts that look like absolute paths.
  public func paths(in arguments: JSONValue) -> [String] { arguments.texts.filter { $0.hasPrefix("/") } }
  /// None.
  public func inputs(in arguments: JSONValue) -> [String] { [] }
  /// The same arguments: relative paths start at the spool's folder `payload/`, whoever submits the job.
  public func replacingPaths(in arguments: JSONValue, with change: (String) -> String) -> JSONValue { arguments }
  /// Nothing of its own.
  public var settings: JobTypeSettings { JobTypeSettings() }
  /// Takes nothing back.
  public func revert(_ execution: JobExecution) async throws {}
}

extension JSONValue {
  /// All texts in it, but for names of fields.
  package var texts: [String] {
    switch self {
    case .string(let text): [text]
    case .array(let values): values.flatMap(\.texts)
    case .object(let object): object.flatMap { $0.value.texts }
    default: []
    }
  }

  /// The object with another text under a key; whatever else it is, or has there, stays as it is.
  package func replacingText(_ key: String, with change: (String) -> String) -> JSONValue {
    guard var object, let text = object[key]?.string else { return self }
    object[key] = .string(change(text))
    return .object(object)
  }
}
