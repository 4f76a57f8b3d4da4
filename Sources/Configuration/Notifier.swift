/// Sections `[Notify NAME]`, and files `notify.d/NAME.conf`: events that jobs tell people of.
extension Configuration {
  /// The kinds of events that people can be told of.
  package enum NoticeKind: String, Sendable, Hashable, CaseIterable {
    /// A job has failed for good.
    case discarded
    /// A job was set aside because its process crashed too often.
    case quarantined
    /// All jobs of a batch have ended.
    case batch
    /// A schedule did not fire when it was due.
    case scheduleMissed = "schedule-missed"
    /// A job of a schedule has failed for good, or is refused.
    case scheduleFailed = "schedule-failed"
    /// The store had no room for a while.
    case storageFull = "storage-full"
  }

  /// `[Notify NAME]`: the events, and the job that tells of each.
  package struct Notifier: Sendable, Equatable {
    /// The kinds of events.
    package internal(set) var kinds: [NoticeKind] = [.discarded, .quarantined]
    /// The type of the jobs; their arguments are the event.
    package internal(set) var type = ""
    /// The queue of the jobs.
    package internal(set) var queue = "notices"
    /// The most jobs in a minute; further events are told together.
    package internal(set) var limit = 10
  }

  /// The settings of `[Notify NAME]`.
  package internal(set) subscript(notifier name: String) -> Notifier {
    get { notifiers[name] ?? Notifier() }
    set { notifiers[name] = newValue == Notifier() ? nil : newValue }
  }

  /// Returns the problems with notifiers: a type that is missing, or that no handler knows.
  ///
  /// - Parameter types: all types that have handlers.
  package func notifierProblems(types: Set<String>) -> [ConfigurationProblem] {
    let kind = "Notify "
    return sectionPlaces.keys.filter { $0.hasPrefix(kind) }.sorted().compactMap { section in
      let notifier = self[notifier: String(section.dropFirst(kind.count))]
      if types.contains(notifier.type) { return nil }
      let message =
        notifier.type.isEmpty
        ? "needs Type=, the type of the jobs that tell people; a file in handlers.d can declare one"
        : "there is no job type \"\(notifier.type)\" for Type=; there are \(types.sorted().joined(separator: ", "))"
      return ConfigurationProblem(section: section, at: sectionPlaces[section], message)
    }
  }
}

extension Setting {
  static func notifier(_ section: String, _ name: String) -> [Setting] {
    [
      Setting(section, "On", at: \.[notifier: name].kinds, as: .choices()),
      Setting(section, "Type", at: \.[notifier: name].type, as: .jobType),
      Setting(section, "Queue", at: \.[notifier: name].queue, as: .text),
      Setting(section, "Limit", at: \.[notifier: name].limit, as: .integer(in: 1...1000)),
    ]
  }
}
