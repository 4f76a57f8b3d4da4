import Foundation
import HTTPService
import Jobs
import ObjectGraph
import SystemSupport

/// The common parts of submissions, whether they are documents or lines.
extension StatusService {
  /// A client's submission.
  struct Submission: Sendable {
    let body: Data
    /// The file with one job on each line that the body is; nil for a document.
    let lines: SpooledFile?
    /// The form that has the inputs of the document's jobs, if it came in one.
    let form: UploadedForm?
    /// The open files that came with it, whose contents are such inputs.
    let open: OpenInputs?
    let client: HTTPClient
    let terms: SubmissionTerms

    var user: UInt32 { client.credentials?.user ?? .max }

    /// True if it has files that are written once more before its jobs are admitted.
    var needsCopy: Bool { open != nil || lines != nil && terms.directory != nil }
  }

  /// The reply to submissions while none are accepted; nil if they are.
  var intakeRefusal: HTTPResponse? {
    switch daemon.intake.refusal {
    case .stopping: return .failure(503, code: "draining", message: "the daemon is stopping; try again later")
    case .storageFull:
      return .failure(503, code: "storage-full", message: "the disk of the store is full; try again later")
    case .databaseAway: if let databaseRefusal { return databaseRefusal }
    case .storeBusy: return Self.storeBusy
    default: break
    }
    if !daemon.scheduler.isFull { return nil }
    return .failure(503, code: "busy", message: "too many jobs are unfinished; try again later")
  }

  /// The reply to what needs the fleet's database while that is away; nil if it is not.
  var databaseRefusal: HTTPResponse? { daemon.databaseAbsence.map { Self.databaseAway("\($0)") } }

  static func databaseAway(_ reason: String) -> HTTPResponse {
    .failure(
      503, code: "database-away", message: reason,
      hint: "try again when it is back; job files that are put into new/ wait there meanwhile, and running jobs go on")
  }

  static let storeBusy = HTTPResponse.failure(
    503, code: "store-busy", message: "another program keeps the store locked; try again later",
    hint: "end the transaction of that program, such as sqlite3")

  /// Waits for the jobs of a submission if its client wants that, and then answers with a status.
  ///
  /// - Parameters:
  ///   - files: the files of a document, which may replace jobs.
  ///   - namesKnown: true if some of the jobs were known.
  func wait(
    for jobs: [ManagedObjectID], in files: [AdmittedFile] = [], namesKnown: Bool, of submission: Submission,
    at place: WaitingClients.Place?, responder: HTTPResponder,
    then answer: @escaping @Sendable (_ status: Int) -> Void
  ) {
    guard let wait = submission.terms.wait else { return answer(202) }
    let waiting = SubmissionWait(jobs, daemon) { [daemon] isOver in
      daemon.lastReplies.enter()
      responder.whenOver { daemon.lastReplies.leave() }
      // Before the client has its reply, and may come back.
      place?.leave()
      answer(isOver ? 200 : 202)
    }
    waiting.begin(limit: wait, for: files, namesKnown: namesKnown)
    responder.whenOver {
      waiting.abandon()
      place?.leave()
    }
  }

  /// The end of the reply to a submission: a fleet's tells how durable it is what the jobs have come to by then.
  var submissionEnd: String {
    (daemon.membership.map { ",\"durability\":\"\($0.durability)\"" } ?? "") + "}"
  }

  /// The reply to a submission that can't be accepted.
  func response(to error: any Error) -> HTTPResponse {
    switch error {
    case let error as JobFileError: return .failure(400, code: "invalid-job", message: error.description)
    case let error as LineFileRefusal:
      let message = error.reasons.joined(separator: "; ")
      return error.isOfKnownIDs
        ? .failure(409, code: "id-taken", message: message) : .failure(400, code: "invalid-job", message: message)
    case is KeyReused:
      return .failure(
        422, code: "key-reused", message: "another body was submitted with this Idempotency-Key",
        hint: "take a new key for each submission, and the same one to repeat it")
    case is FormError, is MultipartError:
      return .failure(400, code: "bad-request", message: "\(error)", hint: "see POST /v1/jobs in StatusAPI.md")
    case let error as OpenInputsError:
      return .failure(
        400, code: "bad-descriptor", message: "\(error)",
        hint: "send the inputs in a form; see POST /v1/jobs in StatusAPI.md")
    case let error as UploadRefusal: return Self.response(to: error)
    case let error as AdmissionRefusal: return .failure(409, code: "id-taken", message: error.reason)
    case let error as SpoolQuota.Refusal: return .failure(429, code: "quota", message: error.reason)
    case let stopped as LineFileAdmission.Stopped where stopped.isKept:
      return .failure(
        503, code: "admission-interrupted",
        message: "some of the jobs may be admitted already; the next start of the daemon goes on with the others",
        hint: "don't send the file again: jobs that it gives no IDs would run twice")
    case let error as UnansweredAdmission:
      return .failure(
        503, code: "admission-interrupted", message: "\(error)",
        hint: "don't send them again: they are accepted as soon as it answers; `bobbinctl show ID` tells then")
    case is LineFileAdmission.Stopped:
      return .failure(
        503, code: "draining", message: "the daemon is stopping, and nothing of the file was accepted",
        hint: "send it again when the daemon is back")
    case let error as StoreError where error.code == .busy: return Self.storeBusy
    case let error as StoreError where error.code == .unavailable: return Self.databaseAway("\(error)")
    case let error as StoreError where error.code == .full:
      return .failure(503, code: "storage-full", message: "the store can't be written: \(error)")
    case let error as SystemError where error.code == .diskFull || error.code == .quotaExceeded:
      return .failure(503, code: "storage-full", message: "the spool can't be written: \(error)")
    default:
      daemon.engine.report(error, "a submitted job can't be accepted")
      return .failure(500, code: "spool", message: "the job can't be written to the spool: \(error)")
    }
  }
}

extension TraceContext {
  /// The trace in the header of a request; nil if there is none, or one that is not valid.
  init?(headers: HTTPHeaders) {
    // Several are none, and states in several fields are one list (RFC 9110, section 5.3).
    let parents = headers.values(of: "traceparent")
    guard parents.count == 1 else { return nil }
    let states = headers.values(of: "tracestate")
    self.init(parent: parents[0], state: states.isEmpty ? nil : states.joined(separator: ","))
  }
}
