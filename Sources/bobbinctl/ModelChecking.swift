import Foundation
import Jobs
import JSONText
import ObjectModel
import SystemSupport

/// `bobbinctl model check`: tells all mistakes in models, and in the instructions for migrations beside them.
struct ModelChecking: ModelAction {
  let paths: [String]

  /// A mistake, or something that is passed over.
  private struct Finding {
    let isError: Bool
    let error: ModelError
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let operands: [String?] = paths.isEmpty ? [nil] : paths
    let places = try operands.map { (path) throws(ToolError) in try session.modelPlace(path) }
    var findings: [Finding] = []
    var files = 0
    var entities = 0
    for place in places {
      var owners: [String: String] = [:]
      for bundle in try place.bundles() {
        for version in try versions(of: bundle, &findings) {
          files += 1
          // Other versions than the one in use may have the same entities.
          guard let model = review(version, &findings), version.version == bundle.version else { continue }
          entities += model.entities.count
          findings += doubles(in: model, of: version, &owners)
        }
      }
      if place.isFolder, let finding = instructions(in: place.path) { findings.append(finding) }
    }
    try report(findings, files: files, entities: entities, session)
    return findings.contains(where: \.isError) ? .jobFailed : .success
  }

  /// The version that is asked for, or else the current one and then all others of the bundle.
  private func versions(of bundle: ModelPlace, _ findings: inout [Finding]) throws(ToolError) -> [ModelPlace] {
    guard bundle.isVersioned, bundle.version == nil else { return [bundle] }
    do throws(ModelError) {
      let all = ModelBundle(URL(filePath: bundle.path))
      let current = try all.currentVersion()
      let names = try all.versions()
      if !names.contains(current) {
        throw ModelError(
          .unreadable, "its .xccurrentversion chooses \"\(current)\", which is not there", file: bundle.path)
      }
      return [bundle] + names.filter { $0 != current }.map { ModelPlace(path: bundle.path, version: $0) }
    } catch {
      findings.append(Finding(isError: true, error: error))
      return []
    }
  }

  private func review(_ place: ModelPlace, _ findings: inout [Finding]) -> ManagedObjectModel? {
    do throws(ModelError) {
      let (xml, file) = try place.contents()
      let review = ModelReview(xml: xml, file: file.path(percentEncoded: false))
      findings += review.errors.map { Finding(isError: true, error: $0) }
      findings += review.warnings.map { Finding(isError: false, error: $0) }
      return review.model
    } catch {
      findings.append(Finding(isError: true, error: error))
      return nil
    }
  }

  /// Entities of another bundle, or of the daemon's own model.
  private func doubles(
    in model: ManagedObjectModel, of place: ModelPlace, _ owners: inout [String: String]
  ) -> [Finding] {
    model.entities.compactMap { entity in
      let isOwn = BuiltInModel.entityNames.contains(entity.name)
      let other = isOwn ? "bobbin's own model" : owners.updateValue(place.path, forKey: entity.name)
      return other.map { owner in
        Finding(
          isError: true,
          error: ModelError(
            .invalidName, "an entity of this name is in \(owner) already", file: place.path, entity: entity.name))
      }
    }
  }

  /// A mistake in `migration.conf`.
  private func instructions(in folder: String) -> Finding? {
    let file = folder + "/migration.conf"
    guard FileManager.default.fileExists(atPath: file) else { return nil }
    do {
      _ = try MigrationInstructions(text: String(contentsOfFile: file, encoding: .utf8), file: file)
      return nil
    } catch let error as ModelError {
      return Finding(isError: true, error: error)
    } catch {
      return Finding(
        isError: true,
        error: ModelError(.unreadable, "can't be read: \(error.localizedDescription)", file: file))
    }
  }

  private func report(_ findings: [Finding], files: Int, entities: Int, _ session: Session) throws(ToolError) {
    let errors = findings.count(where: \.isError)
    if session.printsJSON {
      let value: JSONValue = .object([
        "files": .integer(Int64(files)), "entities": .integer(Int64(entities)),
        "findings": .array(
          findings.map { finding in
            let error = finding.error
            return .object([
              "severity": .string(finding.isError ? "error" : "warning"), "code": .string(error.code.rawValue),
              "file": error.file.map { .string($0) } ?? .null, "line": error.line.map { .integer(Int64($0)) } ?? .null,
              "entity": error.entity.map { .string($0) } ?? .null,
              "property": error.property.map { .string($0) } ?? .null, "message": .string(error.message),
            ])
          }),
      ])
      return try session.output.write(value.serialized() + "\n")
    }
    for finding in findings {
      try session.output.write(singleLine("\(finding.isError ? "error" : "warning"): \(finding.error)") + "\n")
    }
    let warnings = findings.count - errors
    try session.output.write(
      "\(Self.count(files, "model")), \(entities) \(entities == 1 ? "entity" : "entities"), "
        + "\(Self.count(errors, "error")), "
        + "\(Self.count(warnings, "warning"))\n")
  }

  private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
