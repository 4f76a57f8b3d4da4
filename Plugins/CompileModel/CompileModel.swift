import Foundation
import PackagePlugin

/// Compiles every `.xcdatamodeld` bundle of a target, and every `.xcdatamodel` that lies in none, into a Swift file with
/// typed classes.
@main
struct CompileModel: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let tool = try context.tool(named: "ModelCompiler")
    return try bundles(in: target.directoryURL).map { bundle in
      let name = bundle.deletingPathExtension().lastPathComponent
      let output = context.pluginWorkDirectoryURL.appending(component: name + ".swift")
      return .buildCommand(
        displayName: "Compile the model \(name)", executable: tool.url,
        arguments: [bundle.path, "--output", output.path, "--module-access", access(of: target)],
        inputFiles: [bundle] + (try files(in: bundle)), outputFiles: [output])
    }
  }

  /// What a program or its tests declare is internal, unless somebody says otherwise; a library's classes are for others.
  private func access(of target: any Target) -> String {
    switch (target as? any SourceModuleTarget)?.kind {
    case .executable, .test: "internal"
    default: "public"
    }
  }

  /// The target's own list of files leaves out bundles that the manifest excludes, so the folder is searched.
  private func bundles(in folder: URL) throws -> [URL] {
    var found: [URL] = []
    for url in try contents(of: folder) {
      if ["xcdatamodeld", "xcdatamodel"].contains(url.pathExtension) {
        found.append(url)
      } else if url.hasDirectoryPath {
        found += try bundles(in: url)
      }
    }
    return found
  }

  /// Every file of a bundle, so that any change in it compiles it again.
  private func files(in bundle: URL) throws -> [URL] {
    try contents(of: bundle).flatMap { url in url.hasDirectoryPath ? try files(in: url) : [url] }
  }

  /// In the order of the names, so that the same folder yields the same commands.
  private func contents(of folder: URL) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.isDirectoryKey])
      .sorted { $0.path < $1.path }
  }
}
