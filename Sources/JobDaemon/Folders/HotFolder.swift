package import Configuration
import Foundation
package import Jobs
import StatusReplies
import SystemSupport

/// A hot folder as it was configured, with its template.
package struct HotFolder: Sendable, Equatable {
  let definition: HotFolderDefinition
  let template: JobTemplate

  var name: String { definition.name }

  /// The folder as people see it, without files.
  func overview(_ state: FoldersReply.State) -> FoldersReply.Folder {
    FoldersReply.Folder(
      name: name, path: definition.path, patterns: definition.patterns, isRecursive: definition.isRecursive,
      state: state)
  }

  /// Reads the hot folders of a configuration and their templates.
  ///
  /// - Parameters:
  ///   - folder: the folder with the definitions.
  ///   - check: checks the job of a template.
  /// - Throws: everything that is wrong in any of the files, by file, line and key.
  package static func load(
    folder: String, check: (JobSpecification) throws(JobFileError) -> Void
  ) throws(ConfigurationError) -> [HotFolder] {
    var folders: [HotFolder] = []
    var problems: [ConfigurationProblem] = []
    for definition in try HotFolderDefinition.load(folder: folder) {
      do throws(ConfigurationProblem) {
        folders.append(HotFolder(definition: definition, template: try template(of: definition, check)))
      } catch {
        problems.append(error)
      }
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return folders
  }

  private static func template(
    of definition: HotFolderDefinition, _ check: (JobSpecification) throws(JobFileError) -> Void
  ) throws(ConfigurationProblem) -> JobTemplate {
    let text: Data
    do throws(SystemError) {
      text = try FileDescriptor.open(definition.jobFile).readAll(limit: 1 << 20)
    } catch {
      throw definition.problem("Job", "the template can't be read: \(error)")
    }
    do throws(JobFileError) {
      return try JobTemplate(text, queue: definition.queue, check: check)
    } catch {
      throw definition.problem("Job", "\(error)")
    }
  }

  /// Returns true if a file of that name becomes a job.
  ///
  /// Names that programs give to files they are still writing are not taken, whatever the patterns say.
  func takes(_ name: FileName) -> Bool {
    if name.isHidden || Self.unfinishedNames.contains(where: name.matches) { return false }
    return definition.patterns.isEmpty || definition.patterns.contains(where: name.matches)
  }

  private static let unfinishedNames = ["*~", "*.tmp", "*.part", "*.partial", "*.filepart", "*.crdownload"]
}

/// The path of a file within a hot folder, as the names on the way to it.
struct InnerPath: Hashable, Sendable {
  let names: [FileName]

  /// The folder itself.
  static let root = InnerPath(names: [])

  /// The path of an entry of this folder.
  func appending(_ name: FileName) -> InnerPath { InnerPath(names: names + [name]) }

  /// The folder that it lies in.
  var parent: InnerPath { InnerPath(names: names.dropLast()) }

  /// The path as text, or nil if a name is no UTF-8.
  var string: String? {
    var parts: [String] = []
    for name in names {
      guard let text = name.string else { return nil }
      parts.append(text)
    }
    return parts.joined(separator: "/")
  }

  /// The path in bytes.
  var bytes: [UInt8] { Array(names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }
}

extension InnerPath: CustomStringConvertible {
  var description: String { names.map(\.description).joined(separator: "/") }
}

extension InnerPath: Comparable {
  static func < (left: InnerPath, right: InnerPath) -> Bool {
    left.names.lexicographicallyPrecedes(right.names)
  }
}
