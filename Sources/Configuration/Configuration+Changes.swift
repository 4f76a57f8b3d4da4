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
      let (before, after) = (setting.print(old), setting.print(self))
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
