import HTTPService
import JSONText
import StatusReplies
import SystemSupport

/// The words and schemas of a route for clients: the one source of the document at `/v1/openapi.json`.
struct RouteDescription: Sendable {
  /// A query item or a header field.
  struct Parameter: Sendable {
    let name: String
    let summary: String
    let schema: JSONValue
    var isRequired = false
    /// True if the item's own name is not sent, but those of the properties of its schema.
    var isExploded = false
    /// True if a request may have it several times.
    var isRepeatable = false

    static func text(_ name: String, _ summary: String, isRepeatable: Bool = false) -> Parameter {
      Parameter(name: name, summary: summary, schema: ["type": "string"], isRepeatable: isRepeatable)
    }

    static func choice(_ name: String, of names: [String], _ summary: String) -> Parameter {
      Parameter(
        name: name, summary: summary, schema: ["type": "string", "enum": .array(names.map(JSONValue.string))])
    }

    static func integer(_ name: String, in range: ClosedRange<Int64>, _ summary: String) -> Parameter {
      let bounds: JSONObject = [
        "type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound),
      ]
      return Parameter(name: name, summary: summary, schema: .object(bounds))
    }

    static func moment(_ name: String, _ summary: String) -> Parameter {
      Parameter(name: name, summary: summary, schema: ["type": "string", "format": "date-time"])
    }

    /// Items named `NAME.KEY`, with keys of the client's choice.
    static func texts(_ name: String, _ summary: String) -> Parameter {
      let schema: JSONValue = [
        "type": "object", "patternProperties": .object(["^\(name)\\..+$": ["type": "string"]]),
        "additionalProperties": false,
      ]
      return Parameter(name: name, summary: summary, schema: schema, isExploded: true)
    }

    /// Its name as clients write it.
    fileprivate var form: String { isExploded ? "\(name).NAME" : name }

    fileprivate func takes(_ item: String) -> Bool {
      isExploded ? item.hasPrefix("\(name).") && item.utf8.count > name.utf8.count + 1 : item == name
    }
  }

  /// A form that a body may have.
  struct Content: Sendable {
    let mediaType: String
    /// Adds what it refers to, and returns its schema.
    let schema: @Sendable (inout ReplySchemas) throws -> JSONValue

    /// The document of a reply.
    static func reply(_ type: (some Decodable & Sendable).Type) -> Content {
      Content(mediaType: "application/json") { try $0.schema(of: type) }
    }

    /// A document whose schema is written out.
    static func json(_ schema: JSONValue) -> Content { Content(mediaType: "application/json") { _ in schema } }

    /// A form, such as one with files.
    static func form(_ schema: JSONValue) -> Content { Content(mediaType: "multipart/form-data") { _ in schema } }

    /// Anything that is no JSON document.
    static func text(_ mediaType: String) -> Content { Content(mediaType: mediaType) { _ in ["type": "string"] } }
  }

  /// The body of a request.
  struct Body: Sendable {
    let contents: [Content]
    /// True if the request is refused without one.
    let isRequired: Bool

    init(_ contents: Content..., isRequired: Bool) { (self.contents, self.isRequired) = (contents, isRequired) }

    /// An object with some keys; an empty body does for one that needs none.
    static func object(_ properties: JSONObject, required: [String] = []) -> Body {
      var schema: JSONObject = ["type": "object", "properties": .object(properties), "additionalProperties": false]
      if !required.isEmpty { schema["required"] = .array(required.map(JSONValue.string)) }
      return Body(.json(.object(schema)), isRequired: !required.isEmpty)
    }

    /// No body, or one that says nothing.
    static let empty = Body(.json(["type": "object"]), isRequired: false)
  }

  let summary: String
  /// The forms that the reply may have.
  let replies: [Content]
  /// The statuses that it may have.
  var statuses = [200]
  var query: [Parameter] = []
  var headers: [Parameter] = []
  var body: Body?
  /// The statuses of refusals beside those of every route.
  var refusals: [Int] = []

  init(
    _ summary: String, _ replies: Content..., statuses: [Int] = [200], query: [Parameter] = [],
    headers: [Parameter] = [], body: Body? = nil, refusals: [Int] = []
  ) {
    self.summary = summary
    self.replies = replies
    self.statuses = statuses
    self.query = query
    self.headers = headers
    self.body = body
    self.refusals = refusals
  }
  /// The problem of a query with an item that the route does not know, or that comes twice; nil if there is none.
  ///
  /// The reply to a misspelt condition would be that to a request without it.
  func problem(of query: [HTTPTarget.QueryItem]) -> String? {
    var seen: Set<String> = []
    for item in query {
      guard let parameter = self.query.first(where: { $0.takes(item.name) }) else {
        let known = self.query.map(\.form).joined(separator: ", ")
        return "there is no query item \"\(displayName(item.name))\" here"
          + (known.isEmpty ? ", nor any other" : "; there are \(known)")
      }
      if !seen.insert(item.name).inserted, !parameter.isRepeatable {
        return "the query item \"\(displayName(item.name))\" comes more than once"
      }
    }
    return nil
  }
}
