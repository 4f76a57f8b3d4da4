import CalendarTime
package import Timetable

/// A schedule that a file in `schedules.d` declares: when it fires, and the job file that it submits then.
///
/// The initial values here are the only defaults.
package struct ScheduleDefinition: Sendable, Equatable {
  /// The path of the file.
  package let file: String
  package internal(set) var assignments: [String: DefinitionAssignment] = [:]

  /// When it fires; its name is that of the file.
  package internal(set) var rule: ScheduleRule
  var job = ""

  init(file: String) {
    self.file = file
    rule = ScheduleRule(name: ConfigurationFile.name(of: file))
  }

  package var name: String { rule.name }

  /// The absolute path of the job file.
  package var jobFile: String { besideFile(job) }

  /// A problem with the value of a key, with the key's place.
  package func problem(_ key: String, _ message: String) -> ConfigurationProblem { valueProblem(key, message) }

  /// Reads the `*.conf` files of a folder, which may be missing; each declares one schedule.
  ///
  /// - Throws: ``ConfigurationError`` with all problems in all files.
  package static func load(folder: String) throws(ConfigurationError) -> [ScheduleDefinition] {
    try definitions(in: folder) { definition, _ in
      if ValueFormat<String>.jobType.parse(definition.name) != nil { return [] }
      return [
        ConfigurationProblem(
          code: .invalidValue, file: definition.file,
          message: "the file's name is the schedule's; it may have 100 letters, digits, dots, hyphens and underscores")
      ]
    }
  }
}

/// The keys of the section `[Schedule]`.
extension ScheduleDefinition: FileDefinition {
  static let section = "Schedule"
  static let fileKind = "a schedule's file"
  /// Those of systemd.timer(5).
  static let otherNames = [
    "OnUnitActiveSec": "Every", "OnUnitInactiveSec": "Every", "OnActiveSec": "Every", "OnBootSec": "Every",
    "Unit": "Job",
  ]
  static let requiredKeys = [["OnCalendar", "Every"], ["Job"]]

  private static let longest: Int64 = 10 * 366 * 86_400_000

  static let keys: [DefinitionKey<ScheduleDefinition>] = [
    DefinitionKey(
      "OnCalendar",
      assign: { text, definition in
        do throws(CalendarError) {
          definition.rule.times.append(try CalendarExpression(text, localZone: .local()))
          return nil
        } catch {
          return error.description
        }
      }, reset: { $0.rule.times = [] }),
    DefinitionKey("Every", optional: \.rule.interval, format: .milliseconds(in: 1000...longest)),
    DefinitionKey("Persistent", \.rule.isPersistent, format: .boolean),
    DefinitionKey("RandomizedDelaySec", \.rule.randomDelay, format: .milliseconds(in: 0...longest)),
    DefinitionKey("Overlap", \.rule.overlap, format: .choice),
    DefinitionKey("Job", \.job, format: .text),
  ]
}

extension ValueFormat where Value == Int64 {
  /// A time span that is counted in milliseconds.
  fileprivate static func milliseconds(in range: ClosedRange<Int64>) -> Self {
    let spans = ValueFormat<Duration>.duration(
      in: .milliseconds(range.lowerBound) ... .milliseconds(range.upperBound))
    return Self(
      allowed: spans.allowed, parse: { spans.parse($0).map { Int64($0 / .milliseconds(1)) } },
      text: { spans.text(.milliseconds($0)) })
  }
}
