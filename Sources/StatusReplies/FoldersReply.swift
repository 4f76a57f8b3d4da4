package import JSONText

/// The reply of `GET /v1/folders`: every hot folder of the asked host, by name.
package struct FoldersReply: Decodable, Sendable {
  /// The state of a hot folder, open to names of newer daemons.
  package struct State: RawRepresentable, Hashable, Decodable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Files that come are taken.
    package static let watching = Self(rawValue: "watching")
    /// There is no such folder.
    package static let missing = Self(rawValue: "missing")
    /// It is there, and can't be read, or what is remembered of it can't be.
    package static let unreadable = Self(rawValue: "unreadable")
  }

  /// The last file that became a job since the daemon's start.
  package struct LastFile: Decodable, Sendable {
    /// Its path within the folder.
    package let path: String
    /// When its job was submitted.
    package let time: Timestamp?
    /// The ID of its job.
    package let job: String

    package init(path: String, time: Timestamp, job: String) { (self.path, self.time, self.job) = (path, time, job) }

    fileprivate var json: JSONValue {
      .object(["path": .string(path), "time": .time(time), "job": .string(job)])
    }
  }

  /// Its files, as numbers.
  package struct Files: Decodable, Sendable {
    /// Files that were met and wait: until nobody writes to them, until they are quiet, or until jobs are taken.
    package var waiting = 0
    /// Files whose jobs are under way.
    package var underWay = 0
    /// Jobs made of files since the daemon's start.
    package var submitted = 0
    /// Jobs that were completed since then.
    package var completed = 0
    /// Jobs that ended otherwise since then.
    package var failed = 0

    package init() {}

    fileprivate var json: JSONValue {
      .object([
        "waiting": .whole(waiting), "underWay": .whole(underWay), "submitted": .whole(submitted),
        "completed": .whole(completed), "failed": .whole(failed),
      ])
    }
  }

  package struct Folder: Decodable, Sendable {
    package let name: String
    package let path: String
    /// The patterns of files' names; none for all.
    package let patterns: [String]
    package let isRecursive: Bool
    package var state: State
    /// The reason why files are not taken, or not all of them; nil if they are.
    package var problem: String?
    /// The last file that became no job, or that stayed where it was, with the reason.
    package var refusal: String?
    package var files = Files()
    package var last: LastFile?

    package init(name: String, path: String, patterns: [String], isRecursive: Bool, state: State) {
      (self.name, self.path, self.patterns, self.isRecursive) = (name, path, patterns, isRecursive)
      self.state = state
    }

    fileprivate var json: JSONValue {
      .object([
        "name": .string(name), "path": .string(path), "patterns": .array(patterns.map(JSONValue.string)),
        "isRecursive": .bool(isRecursive), "state": .string(state.rawValue), "problem": .text(problem),
        "refusal": .text(refusal), "files": files.json, "last": last?.json ?? .null,
      ])
    }
  }

  package let folders: [Folder]

  package init(folders: [Folder]) { self.folders = folders }

  package var json: JSONValue { .object(["folders": .array(folders.map(\.json))]) }
}

extension StatusReply {
  /// All hot folders together.
  package struct HotFolders: Decodable, Sendable {
    package let count: Int
    /// The names of those with a problem.
    package let troubled: [String]
    package let files: FoldersReply.Files

    /// Adds up what is told of each.
    package init(_ folders: [FoldersReply.Folder]) {
      count = folders.count
      troubled = folders.filter { $0.problem != nil }.map(\.name)
      files = folders.reduce(into: FoldersReply.Files()) { sum, folder in
        sum.waiting += folder.files.waiting
        sum.underWay += folder.files.underWay
        sum.submitted += folder.files.submitted
        sum.completed += folder.files.completed
        sum.failed += folder.files.failed
      }
    }

    var json: JSONValue {
      .object([
        "count": .whole(count), "troubled": .array(troubled.map(JSONValue.string)), "files": files.json,
      ])
    }
  }
}
