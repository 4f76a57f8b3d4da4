import Foundation
import JSONText
import Jobs
import SystemSupport

/// A job file in whose strings placeholders stand for a file: `{path}`, `{relative}`, `{file}`, `{name}`.
///
/// A placeholder is replaced within a value that was parsed before, so that nothing in a file's name can end a string
/// or begin a key.
struct JobTemplate: Sendable, Equatable {
  /// The placeholders of strings.
  enum Placeholder: String, CaseIterable {
    /// The file's absolute path.
    case path
    /// Its path within the hot folder.
    case relative
    /// Its name.
    case file
    /// Its name without the ending.
    case name
  }

  private let job: JSONObject

  /// Reads a template.
  ///
  /// - Parameters:
  ///   - text: JSON5 with one job.
  ///   - queue: the queue of a job that names none.
  ///   - check: checks the job as it would be for some file.
  init(
    _ text: Data, queue: String?, check: (JobSpecification) throws(JobFileError) -> Void
  ) throws(JobFileError) {
    let document: JSONDocument
    do throws(JSONError) {
      document = try JSONDocument(parsing: text, dialect: .json5)
    } catch {
      throw JobFileError(error.message, line: error.line)
    }
    guard var job = document.value.object else {
      throw JobFileError("a template holds one job, not \(document.value.kindName)", line: 1)
    }
    if job["jobs"] != nil {
      throw JobFileError(
        "a template holds one job; define a second hot folder on the same path for another",
        line: document.line(of: ["jobs"]), key: "jobs")
    }
    if job["id"] != nil {
      throw JobFileError(
        "a template has no ID: each file's job gets one of its own", line: document.line(of: ["id"]), key: "id")
    }
    if let queue, job["queue"] == nil { job["queue"] = .string(queue) }
    self.job = job
    try checkPlaceholders(.object(job), [], of: document)
    let sample = TemplateValues(path: "/folder/within/file.txt", relative: "within/file.txt", file: "file.txt")
    do throws(JobFileError) {
      _ = try JobFile(data(for: sample, id: "sample"), check: check)
    } catch {
      // Lines of the sample are not those of the template.
      throw JobFileError(error.message, line: error.key.flatMap { document.line(of: [$0]) }, key: error.key)
    }
  }

  /// The job file of one file.
  func data(for values: TemplateValues, id: String) -> Data {
    var filled = Self.filled(.object(job), values).object ?? [:]
    filled["id"] = .string(id)
    return Data(JSONValue.object(filled).serializedBytes())
  }

  private static func filled(_ value: JSONValue, _ values: TemplateValues) -> JSONValue {
    switch value {
    case .string(let text): .string(TemplateText(text).filled(values))
    case .array(let elements): .array(elements.map { filled($0, values) })
    case .object(let object):
      .object(object.reduce(into: [:]) { $0[$1.key] = filled($1.value, values) })
    default: value
    }
  }

  private func checkPlaceholders(
    _ value: JSONValue, _ path: [String], of document: JSONDocument
  ) throws(JobFileError) {
    switch value {
    case .string(let text):
      guard let unknown = TemplateText(text).unknown else { return }
      let known = Placeholder.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
      throw JobFileError(
        "has the unknown placeholder \(displayName(unknown)); there are \(known), and {{ for {",
        line: document.line(of: path), key: path.joined(separator: "."))
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        try checkPlaceholders(element, path + [String(index)], of: document)
      }
    case .object(let object):
      for (key, element) in object { try checkPlaceholders(element, path + [key], of: document) }
    default: break
    }
  }
}

/// The texts that placeholders stand for.
struct TemplateValues: Sendable {
  let path: String
  let relative: String
  let file: String

  /// The text of a placeholder.
  subscript(placeholder: JobTemplate.Placeholder) -> String {
    switch placeholder {
    case .path: path
    case .relative: relative
    case .file: file
    case .name: file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
    }
  }
}

/// One string of a template, in its parts.
private struct TemplateText {
  private enum Part {
    case text(Substring)
    case placeholder(JobTemplate.Placeholder)
  }

  private var parts: [Part] = []
  /// The first placeholder that nobody knows.
  private(set) var unknown: String?

  init(_ text: String) {
    var rest = text[...]
    while let brace = rest.firstIndex(of: "{") {
      parts.append(.text(rest[..<brace]))
      rest = rest[brace...]
      let end = rest.firstIndex(of: "}")
      if rest.hasPrefix("{{") {
        parts.append(.text("{"))
        rest = rest.dropFirst(2)
      } else if let end, let known = JobTemplate.Placeholder(rawValue: String(rest[..<end].dropFirst())) {
        parts.append(.placeholder(known))
        rest = rest[rest.index(after: end)...]
      } else {
        unknown = String(end.map { rest[...$0] } ?? rest)
        return
      }
    }
    parts.append(.text(rest))
  }

  func filled(_ values: TemplateValues) -> String {
    parts.reduce(into: "") { text, part in
      switch part {
      case .text(let more): text += more
      case .placeholder(let placeholder): text += values[placeholder]
      }
    }
  }
}
