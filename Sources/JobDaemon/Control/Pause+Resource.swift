import Jobs
import SystemSupport

extension Pause {
  /// The paused resource; nil for a record of a kind that only a later version knows.
  var resource: Resource.Name? {
    switch kind {
    case "all": .everything
    case "queue": .queue(name)
    case "type": .type(name)
    default: nil
    }
  }
}

extension Resource.Name: CustomStringConvertible {
  var description: String {
    switch self {
    case .everything: "everything"
    case .queue(let queue): "the queue \"\(queue)\""
    case .type(let type): "the type \"\(type)\""
    case .key(let key): "the limit \"\(key)\""
    }
  }

  /// The command that ends a pause.
  var resumeCommand: String {
    guard let (kind, name) = kindAndName, kind != "all" else { return "bobbinctl resume" }
    return "bobbinctl resume --\(kind) \(displayName(name))"
  }

  /// Kind and name in a pause's record and in the status API; nil for a key, which can't be paused.
  var kindAndName: (kind: String, name: String)? {
    switch self {
    case .everything: ("all", "")
    case .queue(let name): ("queue", name)
    case .type(let name): ("type", name)
    case .key: nil
    }
  }
}
