import Foundation
import JSONText

/// The job that imports the records that an import has rejected, once they are corrected.
struct RejectsJob {
  private let arguments: JSONObject
  private let form: JSONObject

  /// Arguments that apply to the first input, but not to a UTF-8 text of its records.
  private static let dropped: Set<String> = [
    "input", "compression", "encoding", "skipLines", "records", "maxDeletes", "dryRun",
  ]

  /// - Parameters:
  ///   - job: The import, as the daemon tells it.
  ///   - form: How its input is written.
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
