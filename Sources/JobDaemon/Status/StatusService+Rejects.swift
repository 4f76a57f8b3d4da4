import HTTPService
import JSONText
import Jobs
import ObjectGraph

extension StatusService {
  /// Adds the requests about what imports have rejected.
  func addRejects(to router: inout GuardedRouter) {
    router.on(.get, "/v1/jobs/:id/rejects", needs: .reading) { request, parameters in
      self.rejects(parameters["id"], request)
    }
  }

  private func rejects(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    let limit = request.query("limit").map { Int($0) } ?? 1_000
    let after = request.query("after").map { Int64($0) } ?? -1
    guard let limit, (1...10_000).contains(limit), let after else {
      return .now(.failure(400, code: "bad-request", message: "limit is 1 to 10000, after is a byte offset"))
    }
    return read(request) { context, core in
      guard let job = try Self.job(id, context) else { return Self.noJob(id) }
      let isJobs = Condition.compare(.keyPath(["job"]), .equal, .object(job.objectID), [])
      var request = FetchRequest<ImportReject>(
        .and([isJobs, .compare(.keyPath(["byteOffset"]), .greater, .value(.integer(after)), [])]))
      request.sortDescriptors = [.ascending("byteOffset")]
      request.fetchLimit = limit
      let rejects = try context.fetch(request)
      let state = try context.fetch(FetchRequest<ImportState>(isJobs, limit: 1)).first
      return Self.json(
        .object([
          "id": .string(id), "total": .integer(Int64(try context.count(for: FetchRequest<ImportReject>(isJobs)))),
          "found": .integer(state?.rejects ?? 0),
          "header": state?.header.map(JSONValue.string) ?? .null, "input": JobJSON.json(state?.form),
          "rejects": .array(rejects.map(Self.json)),
          "next": rejects.count == limit ? rejects.last.map { .integer($0.byteOffset) } ?? .null : .null,
        ]))
    }
  }

  private static func json(_ reject: ImportReject) -> JSONValue {
    .object([
      "line": .integer(reject.line), "byteOffset": .integer(reject.byteOffset),
      "column": reject.column.map(JSONValue.string) ?? .null, "rule": .string(reject.rule),
      "message": .string(reject.message), "raw": .string(reject.raw),
    ])
  }

  /// The number of records that an import has rejected so far; nil for jobs of other types.
  static func rejectCount(of job: Job, _ context: isolated ManagedObjectContext) throws -> JSONValue? {
    guard job.type == "import" else { return nil }
    let condition = Condition.compare(.keyPath(["job"]), .equal, .object(job.objectID), [])
    return .integer(try context.fetch(FetchRequest<ImportState>(condition, limit: 1)).first?.rejects ?? 0)
  }
}
