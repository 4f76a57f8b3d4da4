import Foundation
import HTTPService
import JSONText
import ObjectGraph
import SystemSupport

/// Requests for the objects that jobs have written.
extension StatusService {
  func addObjects(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/objects/:entity", needs: .readingObjects,
      as: .init(
        "Objects of an entity that jobs have written", .json(Self.listSchema), .text("application/x-ndjson"),
        .text("text/csv"),
        query: [
          .text("predicate", "Only objects that meet it"),
          .text(
            "sort", "Paths to attributes, with commas between; a minus before one has the largest first",
            isRepeatable: true),
          .integer("limit", in: 1...(.max), "At most so many objects; of a JSON list 1000"),
          .text("cursor", "Where to go on: next of an earlier reply"),
          .choice("count", of: ["true", "false"], "Whether to count the objects that meet the predicate"),
          .choice("format", of: ObjectFormat.allCases.map(\.rawValue), "The form of the reply"),
        ] + Self.showing, refusals: [404, 422])
    ) { request, parameters in
      self.objects(of: parameters["entity"], request)
    }
    router.on(
      .get, "/v1/objects/:entity/:id", needs: .readingObjects,
      as: .init("One object", .json(Self.objectSchema), query: Self.showing, refusals: [404, 422])
    ) { request, parameters in
      self.object(parameters["id"], of: parameters["entity"], request)
    }
    router.on(
      .get, "/v1/objects/:entity/:id/:attribute", needs: .readingObjects,
      as: .init(
        "One value of an object", .text("text/plain"), .text(BinaryKind.unknown), .text("image/*"),
        refusals: [404, 422])
    ) { request, parameters in
      self.value(of: parameters["attribute"], parameters["id"], of: parameters["entity"], request)
    }
  }

  /// The query items that say what of an object is shown.
  private static let showing: [RouteDescription.Parameter] = [
    .text(
      "expand", "Relationships whose objects are shown with their values, with commas between", isRepeatable: true),
    .integer("related", in: 0...Int64(ObjectQuery.relatedLimit), "The most objects of a to-many relationship"),
    .integer("inline", in: 0...Int64(ObjectQuery.inlineLimit), "Binary values of up to so many bytes are in the reply"),
  ]

  private static let objectSchema: JSONValue = [
    "type": "object",
    "properties": ["id": ["type": "string"], "entity": ["type": "string"], "values": ["type": "object"]],
    "required": ["id", "entity", "values"], "additionalProperties": false,
  ]

  private static let listSchema: JSONValue = [
    "type": "object",
    "properties": [
      "objects": ["type": "array", "items": objectSchema], "next": ["type": ["string", "null"]],
      "count": ["type": "integer"],
    ],
    "required": ["objects", "next"], "additionalProperties": false,
  ]

  // MARK: Many objects

  private func objects(of entity: String, _ request: HTTPRequest) -> HTTPReply {
    do throws(ObjectQueryError) {
      let query = try ObjectRequest(entity, request, in: daemon.coordinator)
      return query.format == .json ? list(query, request) : export(query, request)
    } catch {
      return .now(Self.refusal(error))
    }
  }

  private func list(_ query: ObjectRequest, _ request: HTTPRequest) -> HTTPReply {
    readObjects(request) {
      let json = ObjectJSON(inlineLimit: query.reader.query.inlineLimit)
      var body = Data("{\"objects\":[".utf8)
      var isFirst = true
      let next = try query.reader.read(after: query.position, limit: query.limit ?? ObjectRequest.usualLimit) {
        object in
        guard isFirst || body.count < ObjectRequest.listBytes else { return false }
        if !isFirst { body.append(UInt8(ascii: ",")) }
        isFirst = false
        body.append(contentsOf: try json.value(object).serializedBytes())
        return true
      }
      let cursor = next.map { JSONValue.string($0.cursor(of: query.reader.query)) } ?? .null
      body.append(contentsOf: "],\"next\":\(cursor.serialized())".utf8)
      if query.wantsCount { body.append(contentsOf: ",\"count\":\(try query.reader.count())".utf8) }
      body.append(UInt8(ascii: "}"))
      return .json(data: body)
    }
  }

  private func export(_ query: ObjectRequest, _ request: HTTPRequest) -> HTTPReply {
    let limit = daemon.configuration.value.status.queryTimeout
    return readObjects(request, isExport: true) { [objectReads, daemon] in
      let packer = request.headers.takeGzip ? GzipStream() : nil
      var pages = try ObjectPages(
        query.reader, as: query.format, after: query.position, limit: query.limit, packer: packer)
      // Before the reply begins: what is wrong with the query shows here.
      let first = try pages.next() ?? Data()
      var response = HTTPResponse(headers: [
        "Content-Type": query.format.contentType, "X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding",
      ])
      if packer != nil { response.headers["Content-Encoding"] = "gzip" }
      response.source = ObjectExport(first, then: pages, objectReads, limit: limit) { error in
        daemon.engine.report(error, "an export of \(query.reader.query.entity.name) was broken off")
      }
      return response
    }
  }

  // MARK: One object

  private func object(_ id: String, of entity: String, _ request: HTTPRequest) -> HTTPReply {
    do throws(ObjectQueryError) {
      let query = try ObjectRequest(entity, request, in: daemon.coordinator)
      return readObjects(request) {
        guard let object = try Int64(id).flatMap({ try query.reader.object($0) }) else {
          return Self.noObject(id, entity)
        }
        return Self.json(try ObjectJSON(inlineLimit: query.reader.query.inlineLimit).value(object))
      }
    } catch {
      return .now(Self.refusal(error))
    }
  }

  private func value(
    of attribute: String, _ id: String, of entity: String, _ request: HTTPRequest
  ) -> HTTPReply {
    do throws(ObjectQueryError) {
      let reader = ObjectReader(
        query: ObjectQuery(try ObjectQuery.entity(named: entity, in: daemon.coordinator.model)),
        coordinator: daemon.coordinator)
      return readObjects(request) {
        guard let object = try Int64(id).flatMap({ try reader.object($0) }) else { return Self.noObject(id, entity) }
        guard let value = try AttributeReply(attribute, of: object) else {
          return .failure(
            404, code: "not-found", message: "the object has no value \"\(displayName(attribute))\"",
            hint: "GET /v1/entities names the attributes of \(object.entity.name)")
        }
        return value.response
      }
    } catch {
      return .now(Self.refusal(error))
    }
  }

  private static func noObject(_ id: String, _ entity: String) -> HTTPResponse {
    .failure(
      404, code: "not-found", message: "\(displayName(entity)) has no object \"\(displayName(id))\"",
      hint: "it may have been deleted since it was listed")
  }

  // MARK: Reading

  /// Answers with what a body reads from the store, on a queue of its own and within the time limit of queries.
  private func readObjects(
    _ request: HTTPRequest, isExport: Bool = false, _ body: @escaping @Sendable () throws -> HTTPResponse
  ) -> HTTPReply {
    let limit = daemon.configuration.value.status.queryTimeout
    return .later(within: .seconds(600)) { responder in
      (isExport ? self.acquireExportTurn : self.acquireTurn)(request.client, responder) { turn in
        let task = self.objectReads.start(within: limit, body) { result in
          switch result {
          case .success(let response): turn.respond(response)
          case .failure(let error): turn.respond(self.refusal(of: error))
          }
        }
        responder.whenOver { task.cancel() }
      }
    }
  }

  private func refusal(of error: any Error) -> HTTPResponse {
    switch error {
    case let error as ObjectQueryError: return Self.refusal(error)
    // Only the store finds out about some.
    case let error as ConditionError:
      return .failure(400, code: "bad-predicate", message: error.description)
    default:
      daemon.engine.report(error, "a query for objects can't be answered")
      return .failure(500, code: "store", message: "the store can't be read: \(error)")
    }
  }

  private static func refusal(_ error: ObjectQueryError) -> HTTPResponse {
    let (status, code) =
      switch error.code {
      case .noEntity: (404, "not-found")
      case .badRequest: (400, "bad-request")
      case .badPredicate: (400, "bad-predicate")
      case .tooSlow: (422, "too-slow")
      }
    return .failure(status, code: code, message: error.message, hint: error.hint, column: error.column)
  }
}

/// A request for objects.
private struct ObjectRequest: Sendable {
  /// The most objects of a list, and how many there are unless the client says.
  static let longestList = 1_000, usualLimit = 100
  /// The text of a list, about; an object more at most.
  static let listBytes = 4 << 20
  private static let longestPredicate = 16 << 10
  private static let mostSorts = 8

  let reader: ObjectReader
  let format: ObjectFormat
  let position: ObjectPosition?
  let limit: Int?
  let wantsCount: Bool

  init(_ entity: String, _ request: HTTPRequest, in coordinator: PersistentStoreCoordinator) throws(ObjectQueryError) {
    var query = ObjectQuery(try ObjectQuery.entity(named: entity, in: coordinator.model))
    if let name = request.query("format") {
      guard let format = ObjectFormat(rawValue: name) else {
        throw ObjectQueryError(.badRequest, "format is json, ndjson or csv")
      }
      self.format = format
    } else {
      format = ObjectFormat(accept: request.headers["Accept"])
    }
    limit = try Self.number("limit", request, in: 1...(format == .json ? Self.longestList : .max))
    query.relatedLimit = try Self.number("related", request, in: 0...ObjectQuery.relatedLimit) ?? query.relatedLimit
    query.inlineLimit = try Self.number("inline", request, in: 0...ObjectQuery.inlineLimit) ?? query.inlineLimit
    if let predicate = request.query("predicate"), predicate.contains(where: { !$0.isWhitespace }) {
      guard predicate.utf8.count <= Self.longestPredicate else {
        throw ObjectQueryError(.badPredicate, "a predicate may have \(Self.longestPredicate) bytes")
      }
      try query.select(predicate)
    }
    let sorts = Self.names("sort", request)
    guard sorts.count <= Self.mostSorts else {
      throw ObjectQueryError(.badRequest, "sort takes at most \(Self.mostSorts) properties")
    }
    try query.sort(by: sorts)
    try query.expand(Self.names("expand", request))
    if let cursor = request.query("cursor"), !cursor.isEmpty {
      position = try ObjectPosition(cursor: cursor, of: query)
    } else {
      position = nil
    }
    switch request.query("count") {
    case "true": wantsCount = true
    case "false", nil: wantsCount = false
    default: throw ObjectQueryError(.badRequest, "count is true or false")
    }
    reader = ObjectReader(query: query, coordinator: coordinator)
  }

  private static func number(
    _ name: String, _ request: HTTPRequest, in range: ClosedRange<Int>
  ) throws(ObjectQueryError) -> Int? {
    guard let text = request.query(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      let limits =
        range.upperBound == .max ? "at least \(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
      throw ObjectQueryError(.badRequest, "\(name) is \(limits)")
    }
    return number
  }

  /// The names of all items of a query, which may have several each.
  private static func names(_ name: String, _ request: HTTPRequest) -> [String] {
    request.target.queryItems.filter { $0.name == name }
      .flatMap { $0.value.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
  }
}

/// The reply with the value of one attribute.
private struct AttributeReply {
  let response: HTTPResponse

  /// Returns nil if there is no value.
  init?(_ name: String, of object: ShownObject) throws {
    guard let property = object.entity.property(named: name), let attribute = property.attribute,
      property.isPersistent, !property.isHidden, !object.row.isNull(property.slot)
    else { return nil }
    var type = "text/plain; charset=utf-8"
    let body: Data
    if attribute.type.storage == .blob {
      body = try object.row.blob(property.slot).load()
      type = BinaryKind.mediaType(of: body.prefix(BinaryKind.signatureLength))
    } else {
      body = Data(try object.row.value(of: attribute, property.slot).description.utf8)
    }
    // Whatever the bytes are, no browser is to take them for a page of this server's.
    var headers: HTTPHeaders = [
      "Content-Type": type, "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "default-src 'none'; sandbox",
    ]
    if type == BinaryKind.unknown { headers["Content-Disposition"] = "attachment" }
    response = HTTPResponse(headers: headers, body: body)
  }
}
