extension HandlerDefinition {
  /// Reads the `*.conf` files of a folder, which may be missing; each declares one type.
  ///
  /// - Parameter builtInTypes: Types that no file may declare.
  /// - Throws: ``ConfigurationError`` with all problems in all files.
  package static func load(
    folder: String, builtInTypes: Set<String> = []
  ) throws(ConfigurationError) -> [HandlerDefinition] {
    var definitions: [HandlerDefinition] = []
    var problems: [ConfigurationProblem] = []
    do {
      for file in try ConfigurationFile.dropIns(in: folder) {
        // A file may be gone between the listing and here.
        guard let text = try ConfigurationFile.contents(of: file) else { continue }
        let (definition, mistakes) = parse(text, file: file)
        problems += mistakes
        if let clash = definition.clash(with: definitions, builtInTypes) { problems.append(clash) }
        definitions.append(definition)
      }
    } catch {
      problems.append(error)
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return definitions
  }

  private func clash(with others: [HandlerDefinition], _ builtInTypes: Set<String>) -> ConfigurationProblem? {
    if type.isEmpty { return nil }
    if builtInTypes.contains(type) { return problem("Type", "is a built-in type; choose another name") }
    return others.first { $0.type == type }.map { problem("Type", "is declared in \($0.file) already") }
  }
}
