/// A hot folder that a file in `folders.d` defines: each file that comes there becomes a job made of a template.
///
/// The initial values here are the only defaults.
package struct HotFolderDefinition: Sendable, Equatable {
  /// The further way of a file whose job is over.
  package enum Afterwards: String, Sendable, CaseIterable {
    case keep, move, delete
  }

  /// The path of the file that defines it.
  package let file: String
  package internal(set) var assignments: [String: DefinitionAssignment] = [:]

  /// The folder that is watched.
  package internal(set) var path = ""
  /// Shell patterns, one of which a file's name has to match.
  package internal(set) var patterns: [String] = []
  /// The job file that is the template, as the definition names it.
  var job = ""
  /// The time for which a file must not have changed.
  package internal(set) var settle = Duration.seconds(1)
  /// True if folders within are watched as well.
  package internal(set) var isRecursive = false
  /// The further way of a file whose job is completed.
  package internal(set) var afterwards = Afterwards.keep
  /// The folder that files move to whose job is completed.
  package internal(set) var done: String?
  /// The folder that files move to whose job failed; nil if they stay.
  package internal(set) var failed: String?
  /// The queue of jobs whose template names none.
  package internal(set) var queue: String?

  init(file: String) { self.file = file }

  package var name: String { ConfigurationFile.name(of: file) }

  /// A problem with the value of a key, with the key's place.
  package func problem(_ key: String, _ message: String) -> ConfigurationProblem { valueProblem(key, message) }
}

extension HotFolderDefinition: FileDefinition {
  static let section = "Folder"
  static let fileKind = "a hot folder's file"
  static let requiredKeys = [["Path"], ["Job"]]

  static let keys: [DefinitionKey<HotFolderDefinition>] = [
    DefinitionKey("Path", \.path, format: .folderPath),
    DefinitionKey(words: "Pattern", \.patterns) { word, patterns in
      if word.isEmpty || word.contains("/") { return "expected patterns of file names, such as *.jpg *.png" }
      patterns.append(word)
      return nil
    },
    DefinitionKey("Job", \.job, format: .text),
    DefinitionKey("Settle", \.settle, format: .duration(in: .zero ... .seconds(3600))),
    DefinitionKey("Recursive", \.isRecursive, format: .boolean),
    DefinitionKey("Afterwards", \.afterwards, format: .choice),
    DefinitionKey("Done", optional: \.done, format: .folderPath),
    DefinitionKey("Failed", optional: \.failed, format: .folderPath),
    DefinitionKey("Queue", optional: \.queue, format: .text),
  ]
}

extension HotFolderDefinition {
  /// The absolute path of the template.
  package var jobFile: String { besideFile(job) }

  /// Reads the `*.conf` files of a folder, which may be missing; each defines one hot folder.
  ///
  /// - Throws: ``ConfigurationError`` with all problems in all files.
  package static func load(folder: String) throws(ConfigurationError) -> [HotFolderDefinition] {
    try definitions(in: folder) { definition, _ in definition.contradictions }
  }

  /// Problems of keys that don't go together.
  private var contradictions: [ConfigurationProblem] {
    var problems: [ConfigurationProblem] = []
    if ValueFormat<String>.jobType.parse(name) == nil {
      problems.append(
        ConfigurationProblem(
          code: .invalidValue, file: file,
          message: "the file's name is the hot folder's; give it one of letters, digits, dots, hyphens and underscores")
      )
    }
    if afterwards == .move && done == nil {
      problems.append(problem("Afterwards", "needs Done=, the folder that files move to"))
    }
    if afterwards != .move && done != nil { problems.append(problem("Done", "needs Afterwards=move")) }
    if afterwards == .keep && failed != nil {
      problems.append(problem("Failed", "needs Afterwards=move or Afterwards=delete"))
    }
    for (key, target) in [("Done", done), ("Failed", failed)] {
      guard let target, !path.isEmpty else { continue }
      if target == path || (isRecursive && target.hasPrefix(path + "/")) {
        problems.append(problem(key, "lies in the hot folder itself, whose files become jobs; choose another one"))
      }
    }
    return problems
  }
}
