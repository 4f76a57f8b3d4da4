extension Configuration {
  /// The effective value of every key, as a file that ``parse(_:file:)`` turns into this configuration again.
  package func describe() -> String {
    let settings = settings()
    let sections = settings.reduce(into: [String]()) { names, setting in
      if names.last != setting.section { names.append(setting.section) }
    }
    return sections.map { section in
      settings.filter { $0.section == section }
        .reduce(into: "[\(section)]\n") { text, setting in text += "\(setting.key)=\(setting.print(self))\n" }
    }.joined(separator: "\n")
  }
}
