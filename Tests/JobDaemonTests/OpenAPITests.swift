import HTTPService
import JSONText
import StatusReplies
import Testing

@testable import JobDaemon

@Suite("The description of the interface")
struct OpenAPITests {
  struct Reply: Decodable, PartlyDecoded {
    struct Part: Decodable { let flag: Bool }
    static let furtherFields: [String: JSONValue] = ["free": [:]]

    private enum CodingKeys: String, CodingKey { case count, name, time, parts, part, numbers, ratio }

    let count: Int
    let name: String?
    let time: Timestamp
    let parts: [Part]
    let part: Part?
    let numbers: [String: Double]
    let ratio: Double?
  }

  @Test("A schema has the types of a reply's fields, and which of them may be missing or null")
  func schema() throws {
    var schemas = ReplySchemas()
    let reference = try schemas.schema(of: [Reply].self)
    let name = "OpenAPITests.Reply"
    #expect(reference == ["type": "array", "items": ["$ref": "#/components/schemas/\(name)"]])
    let part: JSONValue = ["$ref": "#/components/schemas/\(name).Part"]
    #expect(
      schemas.definitions == [
        name: [
          "type": "object",
          "properties": [
            "count": ["type": "integer"], "name": ["type": ["string", "null"]],
            "time": ["type": "string", "format": "date-time"], "parts": ["type": "array", "items": part],
            "part": ["anyOf": [part, ["type": "null"]]],
            "numbers": ["type": "object", "additionalProperties": ["type": "number"]],
            "ratio": ["type": ["number", "null"]], "free": [:],
          ],
          "required": ["count", "time", "parts", "numbers"],
        ],
        "\(name).Part": [
          "type": "object", "properties": ["flag": ["type": "boolean"]], "required": ["flag"],
        ],
      ])
  }

  @Test("Query items that a route does not know are told, and those that come twice where one counts")
  func query() {
    let route = RouteDescription(
      "Lists", query: [.text("sort", "", isRepeatable: true), .text("state", ""), .texts("argument", "")])
    func problem(_ names: String...) -> String? {
      route.problem(of: HTTPTarget("/x?" + names.joined(separator: "&"))?.queryItems ?? [])
    }
    #expect(problem("sort=a", "state=b", "sort=c", "argument.x=1", "argument.y=1") == nil)
    #expect(problem("State=a") == "there is no query item \"State\" here; there are sort, state, argument.NAME")
    #expect(problem("argument=1") != nil && problem("argument.=1") != nil && problem("argumentx=1") != nil)
    #expect(problem("state=a", "state=b") == "the query item \"state\" comes more than once")
    #expect(problem("argument.x=1", "argument.x=2") != nil)
  }

  @Test("What a route takes, replies and refuses is told, and only routes with a body may lack its length")
  func operation() throws {
    let route = RouteDescription(
      "Does it", .reply(WhyReply.self), .text("text/csv"), query: [.integer("limit", in: 1...5, "At most")],
      body: .object(["a": ["type": "string"]], required: ["a"]), refusals: [404])
    var document = OpenAPIDocument([(.post, "/v1/jobs/:id/why", .changing, route), (.get, "/x", .nothing, .init("X"))])
    let json = try document.json()
    let operation = try #require(json["paths"]?["/v1/jobs/{id}/why"]?["post"])
    #expect(operation["operationId"] == "post-jobs-id-why")
    #expect(operation["parameters"]?.array?.compactMap { $0["name"]?.string } == ["id", "limit"])
    #expect(operation["requestBody"]?["required"] == true)
    let statuses = operation["responses"]?.object?.keys
    #expect(statuses == ["200", "400", "401", "403", "404", "411", "413", "421", "429", "500", "503", "504"])
    #expect(operation["responses"]?["200"]?["content"]?.object?.keys == ["application/json", "text/csv"])
    #expect(json["paths"]?["/x"]?["get"]?["responses"]?.object?.keys == ["200", "400", "421", "500", "503", "504"])
    #expect(json["components"]?["schemas"]?["WhyReply"] != nil)
  }
}
