import TextSupport

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

extension HandlerDefinition {
  /// Reads the text of one file.
  ///
  /// - Returns: The definition, to be used only if there are no problems.
  static func parse(_ text: [UInt8], file: String) -> (HandlerDefinition, [ConfigurationProblem]) {
    var definition = HandlerDefinition(file: file)
    var problems: [ConfigurationProblem] = []
    for entry in IniReader.entries(of: text) {
      if var problem = definition.apply(entry) {
        problem.line = entry.line
        problems.append(problem)
      }
    }
    for key in ["Type", HandlerKey.command.name] where definition.assignments[key] == nil {
      let place = problems.contains { $0.key == key }
      if !place { problems.append(definition.missing(key)) }
    }
    return (definition, problems)
  }

  private func missing(_ key: String) -> ConfigurationProblem {
    ConfigurationProblem(
      code: .missingKey, file: file, section: Self.section, key: key, message: "is missing, but required")
  }

  private mutating func apply(_ entry: IniEntry) -> ConfigurationProblem? {
    switch entry.content {
    case .section(let name): return name == Self.section ? nil : unknownSection(name)
    case .malformed(.unknownSection, let name): return unknownSection(name)
    case .malformed(let code, let text):
      return ConfigurationProblem(code: code, file: file, message: ConfigurationParser.message(for: code, text: text))
    case .assignment(let section, let key, let value):
      return assign(section: section, key: key, value: value, line: entry.line)
    }
  }

  private func unknownSection(_ name: String) -> ConfigurationProblem {
    ConfigurationProblem(
      code: .unknownSection, file: file, section: name,
      message: "unknown section; a handler's file has the section [\(Self.section)]")
  }

  private mutating func assign(section: String, key: String, value: String, line: Int) -> ConfigurationProblem? {
    guard !section.isEmpty else {
      return ConfigurationProblem(
        code: .keyOutsideSection, file: file, key: key, value: value,
        message: "stands before any section; put a line [\(Self.section)] above it")
    }
    // Of an unknown section its own line is reported, not every key.
    guard section == Self.section else { return nil }
    guard let found = HandlerKey.all.first(where: { $0.name == key }) else {
      let nearest = NearestName.find(key, in: HandlerKey.all.map(\.name), within: .max) ?? ""
      return ConfigurationProblem(
        code: .unknownKey, file: file, section: section, key: key, value: value,
        message: "unknown key; did you mean \(nearest)?")
    }
    // As in systemd, an empty assignment resets earlier ones.
    if value.isEmpty {
      found.reset(&self)
      assignments[key] = nil
    } else if let problem = found.assign(value, &self) {
      return ConfigurationProblem(
        code: .invalidValue, file: file, section: section, key: key, value: value, message: problem)
    } else {
      assignments[key] = Assignment(line: line, value: value)
    }
    return nil
  }
}
