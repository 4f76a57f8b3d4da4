extension Configuration {
  /// One key whose value differs between two configurations.
  package struct Change: Sendable, Equatable, CustomStringConvertible {
    /// The moment at which a new value of a key takes effect.
    package enum Effect: Sendable, Equatable {
      /// At SIGHUP, `systemctl reload` or `bobbinctl reload`.
      case onReload
      /// At the daemon's next start; until then the old value applies.
      case onRestart
    }

    package let section: String
    package let key: String
    /// The values as a configuration file writes them.
    package let old: String, new: String
    package let effect: Effect

    package var description: String {
      let hint = effect == .onRestart ? " (needs a restart)" : ""
      return "[\(section)] \(key): \(old) -> \(new)\(hint)"
    }
  }

  /// Each key whose value differs from that in `old`, in the order of the file.
  package func changes(from old: Configuration) -> [Change] {
    settings(with: old).compactMap { setting in
      let (before, after) = (setting.text(old), setting.text(self))
      guard before != after else { return nil }
      return Change(section: setting.section, key: setting.key, old: before, new: after, effect: setting.effect)
    }
  }

  /// The configuration in effect after a reload: this one, with the values of `old` for every key that needs a restart.
  package func reloaded(over old: Configuration) -> Configuration {
    settings(with: old).reduce(into: self) { result, setting in
      if setting.effect == .onRestart { setting.copy(old, &result) }
    }
  }
}

extension Configuration {
  /// The effective value of every key, as a file that ``parse(_:file:)`` turns into this configuration again.
  package func describe() -> String {
    let settings = settings()
    let sections = settings.reduce(into: [String]()) { names, setting in
      if names.last != setting.section { names.append(setting.section) }
    }
    return sections.map { section in
      settings.filter { $0.section == section }
        .reduce(into: "[\(section)]\n") { text, setting in text += "\(setting.key)=\(setting.text(self))\n" }
    }.joined(separator: "\n")
  }
}
