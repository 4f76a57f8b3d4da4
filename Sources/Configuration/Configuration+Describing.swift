extension Configuration {
  /// The effective value of every key, as a file that ``parse(_:file:)`` turns into this configuration again.
  package func describe() -> String {
    Setting.sections.map { section in
      Setting.all.filter { $0.section == section }
        .reduce(into: "[\(section)]\n") { text, setting in text += "\(setting.key)=\(setting.print(self))\n" }
    }.joined(separator: "\n")
  }
}
