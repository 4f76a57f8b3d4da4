import Foundation
import PackagePlugin

/// Puts the files in a target's folder `Files` into its code, so that a program needs none beside it.
@main
struct EmbedPage: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let folder = target.directoryURL.appending(component: "Files")
    // In the order of the names, so that the same files yield the same command.
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { !$0.lastPathComponent.hasPrefix(".") }.sorted { $0.path < $1.path }
    let output = context.pluginWorkDirectoryURL.appending(component: "EmbeddedFiles.swift")
    return [
      .buildCommand(
        displayName: "Embed the page", executable: try context.tool(named: "PageEmbedder").url,
        arguments: [output.path] + files.map(\.path), inputFiles: files, outputFiles: [output])
    ]
  }
}
