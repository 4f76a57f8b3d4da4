extension Configuration {
  /// A key and its value in force, for people to see.
  package struct ShownValue: Sendable, Equatable {
    package let section: String
    package let key: String
    /// As a configuration file writes it, without passwords.
    package let text: String
    /// True if it is not the default.
    package let isChanged: Bool
    package let effect: Change.Effect
  }

  /// The value of every key, in the order of the file.
  package var values: [ShownValue] {
    let usual = Configuration()
    return settings().map { setting in
      let text = setting.text(self)
      return ShownValue(
        section: setting.section, key: setting.key, text: ConfigurationProblem.withoutPassword(text),
        isChanged: text != setting.text(usual), effect: setting.effect)
    }
  }
}
