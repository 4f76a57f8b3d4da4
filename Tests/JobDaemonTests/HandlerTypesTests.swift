import JSONText
import Jobs
import Testing

@testable import JobDaemon

@Suite("The handlers of a program")
struct HandlerTypesTests {
  private struct Mine: JobHandler {
    let type: String
    func validate(_ arguments: JSONValue) throws(JobFileError) {}
    func run(_ execution: JobExecution) async throws -> JSONValue { .null }
  }

  private struct Other: JobHandler {
    let type: String
    func validate(_ arguments: JSONValue) throws(JobFileError) {}
    func run(_ execution: JobExecution) async throws -> JSONValue { .null }
  }

  @Test(
    "Two handlers of a type, a handler of a built-in type and one without a type are refused by name",
    arguments: [
      (
        [Mine(type: "a"), Mine(type: "b"), Other(type: "a")] as [any JobHandler],
        #"the type "a" has two handlers, Mine and Other; give one of them another type"#
      ),
      ([Other(type: "import")], #"Other handles the type "import", which is built in; give it a type of its own"#),
      ([Mine(type: "")], "Mine has no type; give it one that job files can name"),
    ])
  func refused(handlers: [any JobHandler], message: String) {
    let error = #expect(throws: HandlerTypeError.self) { try HandlerTypes.check(handlers, besides: ["import"]) }
    #expect(error?.description == message)
  }

  @Test("Handlers of different types are taken")
  func taken() throws {
    try HandlerTypes.check([], besides: ["import"])
    try HandlerTypes.check([Mine(type: "a"), Mine(type: "b"), Other(type: "c")], besides: ["import"])
  }
}
