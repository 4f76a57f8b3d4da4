import Foundation
import HTTPService
import JSONText
import Jobs
import ObjectGraph
import StatusReplies
import SystemSupport
import Timetable

/// Requests about schedules.
extension StatusService {
  func addSchedules(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/schedules", needs: .reading,
      as: .init("What fires when, and what became of it last", .reply(SchedulesReply.self))
    ) { request, _ in self.schedules(request) }
    router.on(
      .post, "/v1/schedules/:name/run", needs: .controlling,
      as: .init(
        "Has a schedule fire now", .reply(ScheduleReply.self), body: .empty, refusals: [404, 409])
    ) { request, parameters in
      let name = parameters["name"]
      return self.changing(request) { (_, responder) throws(JobFileError) in
        self.daemon.schedules.run(name) { result in
          self.respond(responder, about: name, result.map { ScheduleReply(name: name, firing: $0.id) })
        }
      }
    }
    for (action, isPaused) in [("pause", true), ("resume", false)] {
      let summary = isPaused ? "Keeps a schedule from firing" : "Has a schedule that was paused fire again"
      router.on(
        .post, "/v1/schedules/:name/" + action, needs: .controlling,
        as: .init(summary, .reply(ScheduleReply.self), body: .empty, refusals: [404, 409])
      ) { request, parameters in
        let name = parameters["name"]
        return self.changing(request, needsDatabase: false) { (_, responder) throws(JobFileError) in
          self.daemon.schedules.setPaused(isPaused, name) { result in
            self.respond(responder, about: name, result.map { ScheduleReply(name: name) })
          }
        }
      }
    }
  }

  private func schedules(_ request: HTTPRequest) -> HTTPReply {
    read(request) { context, daemon in
      let schedules = try daemon.schedules.overview.map { schedule in
        let jobs = try schedule.last.map { firing in try FiringDesk.states(of: firing, in: context) } ?? [:]
        let file = daemon.schedules.file(of: schedule.name)
        return SchedulesReply.Schedule(
          name: schedule.name, isPaused: schedule.isPaused, moments: file?.moments, jobFile: file?.jobFile,
          overlap: file?.rule.overlap.rawValue, next: schedule.next.map(Timestamp.init(milliseconds:)),
          last: (schedule.last?.time).map(Timestamp.init(milliseconds:)), lastFiring: schedule.last?.id,
          refusal: schedule.refusal,
          jobs: Dictionary(uniqueKeysWithValues: jobs.map { ($0.key.rawValue, $0.value) }),
          history: try Self.history(of: schedule.name, in: context))
      }
      return Self.json(SchedulesReply(schedules: schedules).json)
    }
  }

  /// The last firings of a schedule, the oldest first, as far as they are among its last jobs.
  private static func history(
    of schedule: String, in context: isolated ManagedObjectContext
  ) throws -> [SchedulesReply.Firing] {
    let jobs = try FiringDesk.lastJobs(of: schedule, limit: 200, in: context)
    // The ID of a firing ends with its moment; what its jobs have behind that tells them apart.
    let name = schedule + "@"
    let firings = Dictionary(grouping: jobs) { job in name + job.id.dropFirst(name.count).prefix { $0 != "Z" } + "Z" }
    let told = firings.map { id, jobs in
      let start = jobs.compactMap(\.createdAt).min() ?? .distantPast
      let ends = jobs.compactMap { $0.currentState.isFinal ? $0.finishedAt : nil }
      return SchedulesReply.Firing(
        id: id, time: Timestamp(start),
        seconds: ends.count == jobs.count ? ends.max().map { max(0, $0.timeIntervalSince(start)) } : nil,
        jobs: jobs.reduce(into: [:]) { $0[$1.currentState.rawValue, default: 0] += 1 })
    }
    return told.sorted { $0.time.text < $1.time.text }.suffix(30)
  }

  private func respond(_ responder: HTTPResponder, about name: String, _ result: Result<ScheduleReply, any Error>) {
    let response: HTTPResponse
    switch result {
    case .success(let reply): response = Self.json(reply.json)
    case .failure(is Schedules.Missing):
      response = .failure(
        404, code: "not-found", message: "there is no schedule \"\(displayName(name))\"",
        hint: "`bobbinctl schedules` shows them; a new file is read by `systemctl reload bobbind`")
    case .failure(let error as FiringDesk.IsClosed):
      response = .failure(503, code: "busy", message: "\(error); try again later")
    case .failure(let error as NoAnswer): response = noLead(error)
    case .failure(let error as AdmissionRefusal): response = .failure(409, code: "id-taken", message: error.reason)
    case .failure(let error as JobFileError):
      response = .failure(409, code: "invalid-job", message: "the schedule's job file is refused: \(error)")
    case .failure(let error):
      daemon.engine.report(error, "a command about a schedule can't be carried out")
      response = .failure(500, code: "store", message: "it can't be carried out: \(error)")
    }
    _ = responder.respond(response)
  }
}

extension Timestamp {
  fileprivate init(milliseconds: Int64) {
    self.init(Date(timeIntervalSince1970: Double(milliseconds) / 1000))
  }
}
