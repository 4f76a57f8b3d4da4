import Configuration
import Foundation
import JSONText
package import Jobs
import Synchronization
import SystemSupport

/// The handlers by type; those of declared types change with a reload.
///
/// A job that is running keeps the handler that it began with.
final class HandlerTable: Sendable {
  private struct State {
    var handlers: [String: any JobHandler]
    var typesSoFar: Set<String>
  }

  private let fixed: [String: any JobHandler]
  private let state: Mutex<State>
  private let isHandledElsewhere: @Sendable (String) -> Bool

  /// - Parameters:
  ///   - handlers: those of this host.
  ///   - isHandledElsewhere: true if another host of the fleet has a handler for a type.
  init(_ handlers: [any JobHandler], isHandledElsewhere: @escaping @Sendable (String) -> Bool = { _ in false }) {
    self.isHandledElsewhere = isHandledElsewhere
    let fixed = Dictionary(handlers.map { ($0.type, $0) }) { _, last in last }
    self.fixed = fixed
    state = Mutex(State(handlers: fixed, typesSoFar: Set(fixed.keys)))
  }

  subscript(type: String) -> (any JobHandler)? { state.withLock { $0.handlers[type] } }

  /// The types, sorted.
  var types: [String] { state.withLock { $0.handlers.keys.sorted() } }

  /// The types and those of earlier declarations, whose limits have to be lifted.
  var typesSoFar: Set<String> { state.withLock { $0.typesSoFar } }

  /// The daemon's own handlers.
  var own: [any OwnHandler] { state.withLock { $0.handlers.values.compactMap { $0 as? any OwnHandler } } }

  /// Replaces the handlers of declared types.
  func setDeclared(_ handlers: [any JobHandler]) {
    let merged = handlers.reduce(into: fixed) { $0[$1.type] = $1 }
    state.withLock { state in
      state.handlers = merged
      state.typesSoFar.formUnion(merged.keys)
    }
  }
}

/// The check that each type has one handler.
package enum HandlerTypes {
  /// Checks that each type has one handler.
  ///
  /// - Parameters:
  ///   - own: the handlers that a program adds to the built-in ones.
  ///   - builtIn: the types that every daemon has.
  package static func check(_ own: [any JobHandler], besides builtIn: Set<String>) throws(HandlerTypeError) {
    var known: [String: any JobHandler] = [:]
    for handler in own {
      let name = "\"\(displayName(handler.type))\""
      if handler.type.isEmpty {
        throw HandlerTypeError("\(kind(of: handler)) has no type; give it one that job files can name")
      }
      if builtIn.contains(handler.type) {
        throw HandlerTypeError(
          "\(kind(of: handler)) handles the type \(name), which is built in; give it a type of its own")
      }
      if let first = known.updateValue(handler, forKey: handler.type) {
        throw HandlerTypeError(
          "the type \(name) has two handlers, \(kind(of: first)) and \(kind(of: handler)); give one of them another type"
        )
      }
    }
  }

  private static func kind(of handler: any JobHandler) -> String { "\(type(of: handler))" }
}

/// An error in the types of a program's handlers, such as two handlers for the same type.
package struct HandlerTypeError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

extension HandlerTable {
  /// Writes into a file what its client has said beside it.
  ///
  /// - Parameters:
  ///   - change: makes a path of each that handlers know as such in the arguments; nil to leave them.
  ///   - trace: the trace of jobs that name none.
  /// - Returns: the text of the new file; the same text if nothing changes, or if it is no job file.
  func completing(
    _ data: Data, paths change: ((String) -> String)?, trace: TraceContext?, _ settings: Configuration
  ) throws(JobFileError) -> Data {
    if change == nil, trace == nil { return data }
    // Whoever parses the file as one says what is wrong with it.
    guard var file = (try? JSONValue(parsing: Array(data), dialect: .json5))?.object else { return data }
    let given = file
    if let change {
      if let jobs = file["jobs"]?.array {
        file["jobs"] = .array(jobs.map { resolvingPaths(of: $0, with: change) })
        if let callback = file["callback"] { file["callback"] = resolvingPaths(of: callback, with: change) }
      } else {
        file = resolvingPaths(of: .object(file), with: change).object ?? file
      }
    }
    if let trace, file["traceparent"] == nil, file["tracestate"] == nil {
      file["traceparent"] = .string(trace.parent)
      file["tracestate"] = trace.state.map { .string($0) }
    }
    if file == given { return data }
    // Mistakes are told by the lines that were sent.
    _ = try parse(data, at: Date(), settings.jobs.unknownTypes)
    let completed = Data(JSONValue.object(file).serializedBytes())
    if completed.count > settings.spool.maxJobFileSize {
      throw JobFileError(
        "with absolute paths and its trace it has \(completed.count) bytes, and a job file may have \(settings.spool.maxJobFileSize); "
          + "split it, or set [Spool] MaxJobFileSize")
    }
    return completed
  }

  /// A job whose paths are changed, as far as its type's handler knows which of its arguments are paths.
  func resolvingPaths(of job: JSONValue, with change: (String) -> String) -> JSONValue {
    guard var object = job.object, let type = object["type"]?.string, let arguments = object["arguments"],
      let handler = self[type]
    else { return job }
    object["arguments"] = handler.replacingPaths(in: arguments, with: change)
    return .object(object)
  }

  /// Reads a file's jobs and checks their types and arguments.
  ///
  /// - Parameters:
  ///   - now: the moment from which delays count.
  ///   - unknownTypes: the treatment of types without a handler.
  func parse(_ data: Data, at now: Date, _ unknownTypes: UnknownTypes) throws(JobFileError) -> JobFile {
    try JobFile(data, at: now) { (job) throws(JobFileError) in try check(job, unknownTypes) }
  }

  /// Checks a job's type and arguments, which only a host that has a handler for them can.
  ///
  /// - Parameter unknownTypes: the treatment of types without a handler.
  func check(_ job: JobSpecification, _ unknownTypes: UnknownTypes) throws(JobFileError) {
    if let handler = self[job.type] {
      try job.checkArguments(handler.validate)
    } else if unknownTypes == .refuse, !isHandledElsewhere(job.type) {
      throw JobFileError(
        "there is no job type \"\(job.type)\"; there are \(types.joined(separator: ", "))", key: "type")
    }
  }
}
