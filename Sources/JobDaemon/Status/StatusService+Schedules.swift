import Foundation
import HTTPService
import JSONText
import Jobs
import StatusReplies
import SystemSupport
import Timetable

/// Requests about schedules.
extension StatusService {
  func addSchedules(to router: inout GuardedRouter) {
    router.on(.get, "/v1/schedules", needs: .reading) { request, _ in self.schedules(request) }
    router.on(.post, "/v1/schedules/:name/run", needs: .changing) { request, parameters in
      let name = parameters["name"]
      return self.changing(request) { (_, _, responder) throws(JobFileError) in
        self.daemon.schedules.run(name) { result in
          self.respond(responder, about: name, result.map { ScheduleReply(name: name, firing: $0.id) })
        }
      }
    }
    for (action, isPaused) in [("pause", true), ("resume", false)] {
      router.on(.post, "/v1/schedules/:name/" + action, needs: .changing) { request, parameters in
        let name = parameters["name"]
        return self.changing(request) { (_, _, responder) throws(JobFileError) in
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
        return SchedulesReply.Schedule(
          name: schedule.name, isPaused: schedule.isPaused, next: schedule.next.map(Timestamp.init(milliseconds:)),
          last: (schedule.last?.time).map(Timestamp.init(milliseconds:)), lastFiring: schedule.last?.id,
          jobs: Dictionary(uniqueKeysWithValues: jobs.map { ($0.key.rawValue, $0.value) }))
      }
      return Self.json(SchedulesReply(schedules: schedules).json)
    }
  }

  private func respond(_ responder: HTTPResponder, about name: String, _ result: Result<ScheduleReply, any Error>) {
    let response: HTTPResponse
    switch result {
    case .success(let reply): response = Self.json(reply.json)
    case .failure(is Schedules.Missing):
      response = .failure(
        404, code: "not-found", message: "there is no schedule \"\(displayName(name))\"",
        hint: "`bobbinctl schedules` shows them; a new file is read by `bobbinctl reload`")
    case .failure(let error as FiringDesk.IsClosed):
      response = .failure(503, code: "busy", message: "\(error); try again later")
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
