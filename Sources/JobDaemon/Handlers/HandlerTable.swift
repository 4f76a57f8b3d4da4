import Configuration
import Foundation
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

  init(_ handlers: [any JobHandler]) {
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
  /// Reads a file's jobs and checks their types and arguments.
  ///
  /// - Parameters:
  ///   - now: the moment from which delays count.
  ///   - unknownTypes: the treatment of types without a handler.
  func parse(_ data: Data, at now: Date, _ unknownTypes: UnknownTypes) throws(JobFileError) -> JobFile {
    try JobFile(data, at: now) { (job) throws(JobFileError) in
      if let handler = self[job.type] {
        try job.checkArguments(handler.validate)
      } else if unknownTypes == .refuse {
        throw JobFileError(
          "there is no job type \"\(job.type)\"; there are \(types.joined(separator: ", "))", key: "type")
      }
    }
  }
}
