import Foundation
import TestSupport

@testable import CalendarTime

/// `systemd-analyze calendar`, whose answers ours are compared with.
enum SystemdCalendar {
  static let program = "/usr/bin/systemd-analyze"

  /// False if the tool or the zone files are missing; says so.
  static func isInstalled(_ test: String = #fileID) -> Bool {
    let isThere = FileManager.default.isExecutableFile(atPath: program)
    return SkipReason("needs systemd-analyze").unless(isThere, test) && hasZones(test)
  }

  /// False if the zone files are missing; says so.
  static func hasZones(_ test: String = #fileID) -> Bool {
    SkipReason("needs the time zones of tzdata").unless(ZoneInfo(named: "Europe/Berlin") != nil, test)
  }

  /// What elapses when.
  struct Answer: Equatable {
    let normalForm: String
    /// Seconds since 1970; fewer than were asked for if the expression elapses no more.
    let moments: [Int64]
  }

  enum Reply: Equatable {
    case answer(Answer)
    case refused
    /// The tool's search went round in a circle, as it does in zones whose daylight saving time is in winter.
    case gaveUp
  }

  /// Asks about many expressions in one run of the tool.
  ///
  /// - Parameter zone: The local one.
  /// - Returns: A reply to each.
  static func replies(
    to expressions: [String], after base: Int64, iterations: Int, zone: String
  ) async throws -> [Reply] {
    let options = ["calendar", "--no-pager", "--iterations=\(iterations)", "--base-time=@\(base)", "--"]
    let tool = try await Tool.run(program, options + expressions, environment: ["TZ": zone, "LC_ALL": "C"])
    var exceptions: [String: Reply] = [:]
    for line in tool.errors.split(separator: "\n") {
      if let match = line.wholeMatch(of: /Failed to parse calendar specification '(.*)': .*/) {
        exceptions[String(match.1)] = .refused
      } else if let match = line.wholeMatch(of: /Failed to determine next elapse for '(.*)': .*/) {
        exceptions[String(match.1)] = .gaveUp
      }
    }
    // A block for each expression that is neither refused nor given up, in order; of some of the latter a part.
    var blocks = tool.output.components(separatedBy: "\n\n").filter { $0.contains("Normalized form: ") }[...]
    return expressions.map { expression in
      guard let exception = exceptions[expression] else {
        return blocks.popFirst().map { .answer(answer(in: $0)) } ?? .gaveUp
      }
      if exception == .gaveUp && blocks.first?.contains("Original form: \(expression)\n") == true {
        blocks.removeFirst()
      }
      return exception
    }
  }

  private static func answer(in block: String) -> Answer {
    var (normalForm, moments) = ("", [Int64]())
    for line in block.split(separator: "\n") {
      guard let match = line.wholeMatch(of: /\s*(.*?): (.*)/) else { continue }
      if match.1 == "Normalized form" {
        normalForm = String(match.2)
        continue
      }
      // A time in UTC stands in a line of its own, below the local one, unless that is in UTC too.
      guard let time = match.2.wholeMatch(of: /\w+ (\d+)-(\d+)-(\d+) (\d+):(\d+):(\d+) UTC/) else { continue }
      let numbers = [time.1, time.2, time.3, time.4, time.5, time.6].map { Int($0) ?? 0 }
      let civil = CivilTime(
        year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4], second: numbers[5])
      moments.append(civil.secondsAsUTC)
    }
    return Answer(normalForm: normalForm, moments: moments)
  }

  /// Our own reply.
  static func ours(to expression: String, after base: Int64, iterations: Int, zone: String) -> Reply {
    guard let parsed = try? CalendarExpression(expression, localZone: .local(environment: ["TZ": zone])) else {
      return .refused
    }
    var (moments, moment) = ([Int64](), base * 1_000_000)
    while moments.count < iterations, let next = parsed.next(after: moment) {
      moments.append(next / 1_000_000)
      moment = next
    }
    return .answer(Answer(normalForm: parsed.description, moments: moments))
  }
}
