import Foundation
import Jobs
import ObjectModel

/// A place of models as commands name it: a folder of bundles, a bundle, one version of it, or a file.
struct ModelPlace {
  let path: String
  /// The version of a bundle; nil for the current one.
  let version: String?

  /// - Parameter text: A path, perhaps with `@VERSION` behind it.
  init(_ text: String) {
    if let at = text.lastIndex(of: "@"), !FileManager.default.fileExists(atPath: text) {
      path = String(text[..<at])
      version = String(text[text.index(after: at)...])
    } else {
      path = text
      version = nil
    }
  }

  init(path: String, version: String) {
    self.path = path
    self.version = version
  }

  private var url: URL { URL(filePath: path) }

  /// True for a folder that may hold bundles, and is none.
  var isFolder: Bool {
    var isDirectory: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
    return exists && isDirectory.boolValue && !["xcdatamodeld", "xcdatamodel"].contains(url.pathExtension)
  }

  var isVersioned: Bool { url.pathExtension == "xcdatamodeld" }

  /// The models of a folder in the order of their names, or the one that is named.
  func bundles() throws(ToolError) -> [ModelPlace] {
    guard isFolder else { return [self] }
    do {
      return try BuiltInModel.bundles(in: path).map { ModelPlace($0.path) }
    } catch { throw ToolError(.unreadableFile, "\(path) can't be read: \(error.localizedDescription)") }
  }

  /// The versions of a bundle, and the name of the current one.
  func versions() throws(ToolError) -> (all: [String], current: String) {
    do throws(ModelError) {
      let bundle = ModelBundle(url)
      return (try bundle.versions(), try bundle.currentVersion())
    } catch { throw Self.unreadable(error) }
  }

  /// The file of the version, and its text.
  func contents() throws(ModelError) -> (xml: Data, file: URL) { try ModelBundle(url).contents(version: version) }

  /// The model; of a folder, all of them together with the daemon's own entities, as a store has them.
  func model() throws(ToolError) -> ManagedObjectModel {
    do {
      if isFolder { return try BuiltInModel.merged(withModelsIn: path) }
      return try ManagedObjectModel(contentsOf: url, version: version)
    } catch { throw Self.unreadable(error) }
  }

  private static func unreadable(_ error: any Error) -> ToolError {
    ToolError(.unreadableFile, "\(error)", hint: "\"bobbinctl model check\" tells all that is wrong")
  }
}

extension Session {
  /// The place that an operand names, or the folder of the daemon's models.
  func modelPlace(_ path: String?) throws(ToolError) -> ModelPlace {
    if let path {
      let place = ModelPlace(path)
      guard FileManager.default.fileExists(atPath: place.path) else {
        throw ToolError(.unreadableFile, "there is no \(place.path)")
      }
      return place
    }
    guard let paths else {
      throw ToolError(.usage, "with --socket alone the folder of models is not known", hint: "name it, or --root DIR")
    }
    guard FileManager.default.fileExists(atPath: paths.models) else {
      throw ToolError(.unreadableFile, "there is no \(paths.models)", hint: "name a model, or --root DIR")
    }
    return ModelPlace(paths.models)
  }
}
