import JSONText
import Jobs
import SystemSupport

/// A change of the arguments or the priority of a job that does not run.
struct JobEdit: Sendable, Equatable {
  /// A value for one place of the arguments; nil takes the place away.
  struct Place: Sendable, Equatable {
    /// Keys, and numbers from 0 in lists, with full stops between them.
    let path: String
    let value: JSONValue?
  }

  /// All arguments anew; nil changes those that are there.
  var arguments: JSONValue?
  /// The arguments as whoever edits them has seen them; nil for whatever they are.
  var seen: JSONValue?
  /// Changes of single places, in their order.
  var places: [Place] = []
  var priority: Int?
  /// The absolute path at which paths start that are relative and new; nil for `payload/`.
  var directory: String?

  /// Reads the body of a request.
  ///
  /// - Throws: ``JobFileError`` that names the key.
  init(_ body: JSONValue) throws(JobFileError) {
    guard let object = body.object else { throw JobFileError("the body must be an object, not \(body.kindName)") }
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["arguments", "seen", "set", "unset", "priority", "directory"])
    priority = try reader.integer("priority", in: -100...100)
    directory = try reader.line("directory", limit: 4096)
    if let directory, !directory.hasPrefix("/") { throw reader.error("must be an absolute path", "directory") }
    for key in ["arguments", "seen", "set"] {
      guard let value = object[key], value.object == nil else { continue }
      throw reader.error("must be an object, not \(value.kindName)", key)
    }
    (arguments, seen) = (object["arguments"], object["seen"])
    let set = object["set"]?.object ?? [:]
    for key in set.keys { places.append(Place(path: key, value: set[key])) }
    if let unset = object["unset"] {
      guard let paths = unset.array, paths.allSatisfy({ $0.string != nil }) else {
        throw reader.error("must be a list of the places to be taken away", "unset")
      }
      places += paths.compactMap(\.string).map { Place(path: $0, value: nil) }
    }
    if arguments == nil && places.isEmpty && priority == nil {
      throw JobFileError("one of arguments, set, unset and priority must say what is to be changed")
    }
  }

  /// The arguments that it makes of those that are there.
  ///
  /// - Throws: ``JobFileError`` that names a place that is not there.
  func arguments(from earlier: JSONValue) throws(JobFileError) -> JSONValue {
    var new = arguments ?? earlier
    for place in places {
      let parts = place.path.split(separator: ".", omittingEmptySubsequences: false)
      guard let changed = new.putting(place.value, at: parts[...]) else {
        throw JobFileError("there is no such place in the arguments", key: "arguments." + place.path)
      }
      new = changed
    }
    return new
  }
}

extension JobEdit {
  /// New arguments in which relative paths start at ``directory``, but for those that were there before.
  func resolvingPaths(of arguments: JSONValue, _ earlier: JSONValue, _ handler: any JobHandler) -> JSONValue {
    guard let directory else { return arguments }
    var kept: Set<String> = []
    _ = handler.replacingPaths(in: earlier) { path in
      kept.insert(path)
      return path
    }
    return handler.replacingPaths(in: arguments) { path in
      kept.contains(path) ? path : path.absolutePath(from: directory)
    }
  }
}

extension JSONValue {
  /// The value with another one at a place, or without that place; nil if it can't be there.
  fileprivate func putting(_ value: JSONValue?, at path: ArraySlice<Substring>) -> JSONValue? {
    guard let part = path.first.map({ String($0) }), !part.isEmpty else { return nil }
    let rest = path.dropFirst()
    if var list = array {
      guard let index = Int(part), list.indices.contains(index) || index == list.count && value != nil else {
        return nil
      }
      if rest.isEmpty, value == nil {
        list.remove(at: index)
      } else {
        let inner = index < list.count ? list[index] : .object([:])
        guard let new = rest.isEmpty ? value : inner.putting(value, at: rest) else { return nil }
        if index < list.count { list[index] = new } else { list.append(new) }
      }
      return .array(list)
    }
    guard var object else { return nil }
    if value == nil && object[part] == nil { return nil }
    if rest.isEmpty {
      object[part] = value
    } else {
      guard let new = (object[part] ?? .object([:])).putting(value, at: rest) else { return nil }
      object[part] = new
    }
    return .object(object)
  }
}
