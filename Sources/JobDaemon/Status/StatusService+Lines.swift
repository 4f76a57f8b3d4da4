import Foundation
import HTTPService
import JSONText
import Jobs
import ObjectGraph

extension SpooledFile: HTTPBodySink {}

/// Submissions with one job on each line.
extension StatusService {
  /// The time within which such a submission is admitted, before its client waits for the jobs.
  static let linesTimeout = Duration.seconds(3_600)
  private static let contentTypes: Set = ["application/x-ndjson", "application/ndjson", "application/jsonl"]

  /// Has such a body written to the spool, whatever its length.
  ///
  /// No body is taken from a client of TCP without a token.
  func place(bodyOf request: HTTPRequest, length: UInt64) -> HTTPBodyPlace {
    let isJobs = request.method == .post && request.path == "/v1/jobs"
    let isOfLines = isJobs && Self.hasLines(request), isForm = isJobs && Self.hasForm(request)
    var request = request
    if isOfLines || isForm || request.client.address != nil {
      switch authorize(isOfLines || isForm ? .submitting : .reading, request) {
      case .refused(let response): return .refused(response)
      case .granted(let granted): request = granted
      }
    }
    guard isOfLines || isForm else { return .memory }
    do throws(SubmissionTerms.Refusal) {
      if let problem = SubmissionTerms.description.problem(of: request.target.queryItems) {
        throw SubmissionTerms.Refusal(problem)
      }
      _ = try SubmissionTerms(request, of: isForm ? .form : .lines)
    } catch {
      return .refused(error.response)
    }
    if let refusal = intakeRefusal { return .refused(refusal) }
    if isForm { return place(formOf: request, length: length) }
    let limit = daemon.configuration.value.spool.maxLineFileSize
    if length > limit {
      return .refused(
        .failure(
          413, code: "body-too-large", message: "a file with one job on each line may have \(limit) bytes",
          hint: "set [Spool] MaxLineFileSize, or split the file"))
    }
    do { return .sink(try daemon.spool.receive(length, for: request.client.credentials?.user ?? .max)) } catch {
      return .refused(response(to: error))
    }
  }

  private static func hasLines(_ request: HTTPRequest) -> Bool {
    let type = request.headers["Content-Type"]?.split(separator: ";").first ?? ""
    return contentTypes.contains(type.trimmingCharacters(in: .whitespaces).lowercased())
  }

  func accept(
    _ lines: SpooledFile, of submission: Submission, at place: WaitingClients.Place?, responder: HTTPResponder
  ) throws {
    var lines = lines
    if let directory = submission.terms.directory { lines = try daemon.resolvingPaths(in: lines, from: directory) }
    let name = Submitter.fileName(for: submission.user, tag: submission.terms.tag, hasLines: true)
    try daemon.intake.accept(lines, as: name, submitter: submission.user, needsAll: submission.terms.wait != nil) {
      [self] result in
      switch result {
      case .success(let admitted):
        wait(
          for: admitted.objectIDs, namesKnown: admitted.repeatedCount > 0, of: submission, at: place,
          responder: responder
        ) { [self] status in
          answer(admitted, to: submission, responder: responder, status: status)
        }
      case .failure(let error): _ = responder.respond(response(to: error))
      }
    }
  }

  /// Shows the first of the jobs, and how many there are; in which states, if the client has waited for them.
  private func answer(
    _ lines: AdmittedLines, to submission: Submission, responder: HTTPResponder, status: Int
  ) {
    acquireTurn(submission.client, responder) { [self] turn in
      ManagedObjectContext(parent: daemon.main, name: "submission").perform { [self] context in
        do {
          var body = try Self.list(Array(lines.first), context, daemon: daemon) { id, reply in
            reply.repeated = lines.repeated.contains(id)
            reply.unknownAfter = lines.unknown[id]
          }
          body.append(contentsOf: ",\"total\":\(lines.count),\"repeated\":\(lines.repeatedCount)".utf8)
          if submission.terms.wait != nil {
            let counts = try Self.counts(lines.objectIDs, context, daemon: daemon)
            body.append(contentsOf: ",\"counts\":\(JSONValue.counts(counts).serialized())".utf8)
          }
          body.append(contentsOf: submissionEnd.utf8)
          turn.respond(.json(data: body, status: status))
        } catch {
          turn.respond(.failure(500, code: "store", message: "the store can't be read: \(error)"))
        }
      }
    }
  }

  /// The number of these jobs in each state.
  private static func counts(
    _ ids: [ManagedObjectID], _ context: isolated ManagedObjectContext, daemon: Daemon
  ) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    var look = LiveLook(daemon)
    for start in stride(from: 0, to: ids.count, by: 1_000) {
      let jobs = try context.fetch(FetchRequest<Job>(objectIDs: ids[start..<min(start + 1_000, ids.count)]))
      let live = try look.views(of: jobs)
      for job in jobs {
        counts[(live[job.objectID]?.state ?? job.currentState).rawValue, default: 0] += 1
      }
      context.reset()
    }
    return counts
  }
}
