import Foundation
import JSONText

/// The job that imports the records that an import has rejected, once they are corrected.
struct RejectsJob {
  private let arguments: JSONObject
  private let form: JSONObject

  /// What holds for the first input, but not for a text of its records in UTF-8.
  private static let dropped: Set<String> = [
    "input", "compression", "encoding", "skipLines", "records", "maxDeletes", "dryRun",
  ]

  /// - Parameters:
  ///   - job: the import, as the daemon tells it.
  ///   - form: how its input is written.
  init(_ job: JSONValue, form: JSONValue?) {
    arguments = job["arguments"]?.object ?? [:]
    self.form = form?.object ?? [:]
  }

  /// A name for the file of records: that of the input, with what it is.
  var fileName: String {
    let input = arguments["input"]?.string ?? "records"
    let name = input.split(separator: "/").last?.split(separator: ".").first.map { String($0) } ?? "records"
    return "\(name)-rejects.\(form["format"]?.string ?? "csv")"
  }

  /// The job file's content.
  func job(input: String) -> JSONValue {
    var own: JSONObject = ["input": .string(input), "encoding": "utf-8", "compression": "none"]
    // What was found out about the input is stated: a few records may not be enough to find it out again.
    for (name, value) in form where !Self.dropped.contains(name) { own[name] = value }
    for (name, value) in arguments where !Self.dropped.contains(name) { own[name] = value }
    // A few records are not all that there is.
    switch own["mode"]?.string {
    case "mirror": own["mode"] = "update"
    case "replaceAll": own["mode"] = "insert"
    default: break
    }
    return .object(["type": "import", "arguments": .object(own)])
  }
}
