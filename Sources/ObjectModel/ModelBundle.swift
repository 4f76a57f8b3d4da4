public import Foundation

/// An `.xcdatamodeld` bundle (versions and the current one's name), an `.xcdatamodel` bundle, or a bare contents file.
public struct ModelBundle {
  private let url: URL

  /// A bundle, which is read when it is asked for something.
  public init(_ url: URL) { self.url = url }

  /// The versions' names, in the order of their names; one that stands for all if the bundle has no versions.
  public func versions() throws(ModelError) -> [String] {
    guard url.pathExtension == "xcdatamodeld" else { return [url.deletingPathExtension().lastPathComponent] }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: url.path) } catch {
      throw ModelError(.unreadable, "the bundle can't be read: \(error.localizedDescription)", file: url.path)
    }
    return names.filter { $0.hasSuffix(".xcdatamodel") }.map { String($0.dropLast(".xcdatamodel".count)) }
      .sorted { $0.compare($1, options: .numeric) == .orderedAscending }
  }

  /// The name of the current version, from `.xccurrentversion` or because it is the only one.
  public func currentVersion() throws(ModelError) -> String {
    let marker = url.appendingPathComponent(".xccurrentversion")
    if FileManager.default.fileExists(atPath: marker.path) {
      let data: Data
      do { data = try Data(contentsOf: marker) } catch {
        throw ModelError(.unreadable, "can't be read: \(error.localizedDescription)", file: marker.path)
      }
      let plist = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
      guard let name = plist?["_XCCurrentVersionName"] as? String else {
        throw ModelError(.malformed, "names no current version (_XCCurrentVersionName)", file: marker.path)
      }
      return name.hasSuffix(".xcdatamodel") ? String(name.dropLast(".xcdatamodel".count)) : name
    }
    let versions = try versions()
    guard let only = versions.first, versions.count == 1 else {
      throw ModelError(
        .unreadable,
        versions.isEmpty
          ? "holds no .xcdatamodel" : "holds \(versions.count) versions and no .xccurrentversion that chooses one",
        file: url.path)
    }
    return only
  }

  /// The XML file of a version.
  public func contentsFile(version: String? = nil) throws(ModelError) -> URL {
    switch url.pathExtension {
    case "xcdatamodeld":
      let name = if let version { version } else { try currentVersion() }
      return url.appendingPathComponent(name + ".xcdatamodel").appendingPathComponent("contents")
    case "xcdatamodel":
      return url.appendingPathComponent("contents")
    default:
      return url
    }
  }
}
