public import Foundation

/// An `.xcdatamodeld` bundle (versions and the current one's name), an `.xcdatamodel` bundle, or a bare contents file.
public struct ModelBundle {
  private let url: URL

  /// Creates a bundle, which is read when it is needed.
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

  /// The name of the current version: the one that `.xccurrentversion` chooses, the only one, or the last one (in
  /// numeric order) where that file chooses none.
  public func currentVersion() throws(ModelError) -> String {
    let marker = url.appendingPathComponent(".xccurrentversion")
    let versions = try versions()
    guard let last = versions.last else {
      throw ModelError(.unreadable, "holds no .xcdatamodel", file: url.path)
    }
    if FileManager.default.fileExists(atPath: marker.path) {
      let data: Data
      do { data = try Data(contentsOf: marker) } catch {
        throw ModelError(.unreadable, "can't be read: \(error.localizedDescription)", file: marker.path)
      }
      // The editor writes an empty dictionary if no version was chosen.
      let plist = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
      guard let plist else {
        throw ModelError(.malformed, "names no current version (_XCCurrentVersionName)", file: marker.path)
      }
      if let name = plist["_XCCurrentVersionName"] as? String, !name.isEmpty {
        return name.hasSuffix(".xcdatamodel") ? String(name.dropLast(".xcdatamodel".count)) : name
      }
    } else if versions.count > 1 {
      throw ModelError(
        .unreadable, "holds \(versions.count) versions and no .xccurrentversion that chooses one", file: url.path)
    }
    return last
  }

  /// The XML file of a version.
  public func contentsFile(version: String? = nil) throws(ModelError) -> URL {
    let folder: URL
    switch url.pathExtension {
    case "xcdatamodeld":
      let name = if let version { version } else { try currentVersion() }
      folder = url.appendingPathComponent(name + ".xcdatamodel")
    case "xcdatamodel": folder = url
    default: return url
    }
    let file = folder.appendingPathComponent("contents")
    let manager = FileManager.default
    let isBinary = manager.fileExists(atPath: folder.appendingPathComponent("elements").path)
    guard manager.fileExists(atPath: file.path) || !isBinary else {
      throw ModelError(
        .unreadable,
        "is a binary model of Xcode before 4.3, which can't be read; open and save it in Xcode (or choose a tools version "
          + "from 4.3 on there), which writes it as XML", file: folder.path)
    }
    return file
  }

  /// The XML of a version, and its file.
  package func contents(version: String? = nil) throws(ModelError) -> (xml: Data, file: URL) {
    let file = try contentsFile(version: version)
    let xml: Data
    do { xml = try Data(contentsOf: file) } catch {
      throw ModelError(.unreadable, "the model can't be read: \(error.localizedDescription)", file: file.path)
    }
    guard !xml.starts(with: Data("bplist".utf8)) else {
      throw ModelError(
        .unreadable, "is a binary model, which can't be read; open and save it in Xcode, which writes it as XML",
        file: file.path)
    }
    return (xml, file)
  }
}
