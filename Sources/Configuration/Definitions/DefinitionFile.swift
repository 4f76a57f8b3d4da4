import TextSupport

/// Something that files of a folder such as `handlers.d` define, one each: a section whose keys set properties.
protocol FileDefinition: Sendable {
  /// The section's name.
  static var section: String { get }
  /// The kind of file, for messages: "a handler's file".
  static var fileKind: String { get }
  /// Every key there is, in the order of the documentation.
  static var keys: [DefinitionKey<Self>] { get }
  /// The names of keys of which a file must have one at least, of each list.
  static var requiredKeys: [[String]] { get }

  /// The names that others have for keys.
  static var otherNames: [String: String] { get }

  /// The path of the file.
  var file: String { get }
  /// The keys that were set, for problems that are found later.
  var assignments: [String: DefinitionAssignment] { get set }

  /// A definition with every property at its default.
  init(file: String)
}

/// The place where a key was set.
package struct DefinitionAssignment: Sendable, Equatable {
  let line: Int
  let value: String
}

extension FileDefinition {
  static var otherNames: [String: String] { [:] }

  /// The absolute path of what a definition names, which may lie beside it.
  func besideFile(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    return file.prefix(upTo: file.lastIndex(of: "/").map { file.index(after: $0) } ?? file.startIndex) + path
  }

  /// Reads the `*.conf` files of a folder, which may be missing.
  ///
  /// - Parameter check: Returns further problems of a definition, with regard to those before it.
  /// - Throws: ``ConfigurationError`` with all problems in all files, in their order.
  static func definitions(
    in folder: String, check: (_ definition: Self, _ others: [Self]) -> [ConfigurationProblem]
  ) throws(ConfigurationError) -> [Self] {
    var definitions: [Self] = []
    var problems: [ConfigurationProblem] = []
    do {
      for file in try ConfigurationFile.dropIns(in: folder) {
        // A file may be gone between the listing and here.
        guard let text = try ConfigurationFile.contents(of: file) else { continue }
        let (definition, mistakes) = parse(text, file: file)
        problems += mistakes + check(definition, definitions)
        definitions.append(definition)
      }
    } catch {
      problems.append(error)
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return definitions
  }

  /// Reads the text of one file.
  ///
  /// - Returns: The definition, to be used only if there are no problems.
  static func parse(_ text: [UInt8], file: String) -> (Self, [ConfigurationProblem]) {
    var definition = Self(file: file)
    var problems: [ConfigurationProblem] = []
    for entry in IniReader.entries(of: text) {
      if var problem = definition.apply(entry) {
        problem.line = entry.line
        problems.append(problem)
      }
    }
    for keys in requiredKeys where keys.allSatisfy({ definition.assignments[$0] == nil }) {
      let isTold = problems.contains { keys.contains($0.key ?? "") }
      if !isTold { problems.append(definition.missing(keys.joined(separator: " or "))) }
    }
    return (definition, problems)
  }

  /// A problem with the value of a key, with the key's place.
  func valueProblem(_ key: String, _ message: String) -> ConfigurationProblem {
    let assignment = assignments[key]
    return ConfigurationProblem(
      code: .invalidValue, file: file, line: assignment?.line, section: Self.section, key: key,
      value: assignment?.value, message: message)
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
      message: "unknown section; \(Self.fileKind) has the section [\(Self.section)]")
  }

  private mutating func assign(section: String, key: String, value: String, line: Int) -> ConfigurationProblem? {
    guard !section.isEmpty else {
      return ConfigurationProblem(
        code: .keyOutsideSection, file: file, key: key, value: value,
        message: "stands before any section; put a line [\(Self.section)] above it")
    }
    // Of an unknown section its own line is reported, not every key.
    guard section == Self.section else { return nil }
    guard let found = Self.keys.first(where: { $0.name == key }) else {
      if let known = Self.otherNames[key] {
        return ConfigurationProblem(
          code: .unknownKey, file: file, section: section, key: key, value: value,
          message: "unknown key; here it is \(known)=")
      }
      let nearest = NearestName.find(key, in: Self.keys.map(\.name), within: .max) ?? ""
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
      assignments[key] = DefinitionAssignment(line: line, value: value)
    }
    return nil
  }
}
