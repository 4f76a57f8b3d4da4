import JSONText
import ObjectModel
import SystemSupport

/// `bobbinctl model diff`: tells what has changed between two models, and what a store's migration makes of that.
struct ModelComparing: ModelAction {
  let old: String
  /// Nil for the current version of a bundle against the one before.
  let new: String?

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let (former, later) = try places(session)
    let (source, destination) = (try former.model(), try later.model())
    let changes = ModelDifference(from: source, to: destination).changes
    let statements = changes.filter { !$0.remedies.isEmpty }
    // The hash is that of all models of a store together.
    let heading = former.isFolder ? MigrationInstructions.heading(source.versionHash) : "from HASH"
    if session.printsJSON {
      try session.output.write(Self.json(changes, heading: heading).serialized() + "\n")
    } else {
      for change in changes { try show(change, session) }
      if !statements.isEmpty { try propose(statements, below: heading, isKnown: former.isFolder, session) }
    }
    return changes.isEmpty ? .success : .jobFailed
  }

  private func places(_ session: Session) throws(ToolError) -> (ModelPlace, ModelPlace) {
    let first = try session.modelPlace(old)
    if let new {
      let second = try session.modelPlace(new)
      if first.isFolder != second.isFolder {
        throw ToolError(.usage, "a folder of models can only be compared with another one")
      }
      return (first, second)
    }
    guard first.isVersioned, first.version == nil else {
      throw ToolError(.usage, "what is \(old) to be compared with?", hint: "name a second model, or an .xcdatamodeld")
    }
    let (all, current) = try first.versions()
    guard let place = all.firstIndex(of: current), place > 0 else {
      throw ToolError(
        .usage, "\(old) has no version before \"\(current)\", its current one",
        hint: "there are \(all.joined(separator: ", ")); compare two with \(old)@VERSION \(old)@VERSION")
    }
    return (ModelPlace(path: first.path, version: all[place - 1]), ModelPlace(path: first.path, version: current))
  }

  private func show(_ change: ModelDifference.Change, _ session: Session) throws(ToolError) {
    let mark =
      switch change.kind {
      case .added: "+"
      case .removed: "-"
      case .changed: "~"
      }
    let effect =
      switch change.effect {
      case .none: "nothing in a store changes"
      case .inferred: "migrates by itself"
      case .conditional: "migrates by itself, unless rows are in the way"
      case .decision: "needs a line in migration.conf"
      }
    let text = change.text.isEmpty ? "" : ": \(change.text)"
    let note = change.note.isEmpty ? "" : "; \(change.note)"
    try session.output.write(singleLine("\(mark) \(change.subject)\(text)") + "\n")
    try session.output.write(singleLine("    \(effect)\(note)") + "\n")
  }

  private func propose(
    _ changes: [ModelDifference.Change], below heading: String, isKnown: Bool, _ session: Session
  ) throws(ToolError) {
    try session.output.write("\nlines for migration.conf:\n  \(heading)\n")
    for change in changes {
      let condition = change.effect == .conditional ? "   # if rows are in the way" : ""
      for alternatives in change.remedies {
        let line = alternatives.joined(separator: "   # or: ")
        try session.output.write(singleLine("  " + line + condition) + "\n")
      }
    }
    if !isKnown {
      try session.output.write(
        "HASH is that of all models of the store; \"bobbind --check-config\" tells it, and so does a comparison of "
          + "folders\n")
    }
  }

  private static func json(_ changes: [ModelDifference.Change], heading: String) -> JSONValue {
    .object([
      "equal": .bool(changes.isEmpty), "heading": .string(heading),
      "changes": .array(
        changes.map { change in
          .object([
            "kind": .string(change.kind.rawValue), "entity": .string(change.entity),
            "property": change.property.map { .string($0) } ?? .null, "text": .string(change.text),
            "effect": .string(change.effect.rawValue), "note": .string(change.note),
            "remedies": .array(change.remedies.map { .array($0.map { .string($0) }) }),
          ])
        }),
    ])
  }
}
