import Foundation
import HTTPService
import Jobs
import StatusReplies
import SystemSupport

/// Requests that explain what jobs can do with a path.
extension StatusService {
  func addPaths(to router: inout GuardedRouter) {
    let path = RouteDescription.Parameter(
      name: "path", summary: "An absolute path on this host", schema: ["type": "string", "pattern": "^/"],
      isRequired: true)
    router.on(
      .get, "/v1/explain", needs: .reading,
      as: .init(
        "What jobs can do with a path", .reply(ExplainReply.self),
        query: [path, .text("user", "The name or number of a user; the one who asks without it")])
    ) { request, _ in self.explain(request) }
  }

  /// A user may ask for itself; for others only root and the daemon's user, as the answer tells what those may reach.
  private func explain(_ request: HTTPRequest) -> HTTPReply {
    guard let path = request.query("path"), path.hasPrefix("/"), !path.utf8.contains(0) else {
      return .now(.failure(400, code: "bad-request", message: "path is an absolute path"))
    }
    let asking = request.client.credentials?.user ?? .max
    let (name, isOwner) = (request.query("user"), isOwner(request.client))
    // A folder of a file system that does not answer must not keep others waiting.
    return .later(within: .seconds(60)) { [self] responder in
      pathQueues.async { [self] in _ = responder.respond(explain(path, to: asking, as: name, isOwner: isOwner)) }
    }
  }

  private func explain(_ path: String, to asking: UInt32, as name: String?, isOwner: Bool) -> HTTPResponse {
    do throws(SystemError) {
      guard let user = try name.map({ (name) throws(SystemError) in try Self.number(of: name) }) ?? asking else {
        return .failure(400, code: "bad-request", message: "there is no user \(displayName(name ?? ""))")
      }
      guard user == asking || isOwner else {
        return .failure(
          403, code: "forbidden", message: "only root and the daemon's user may ask for other users",
          hint: "leave the user out to ask for yourself")
      }
      let submitter = try UserIdentity(lookingUp: user)
      let own = OwnFolders(trees: daemon.paths.ownTrees, others: daemon.paths.ownPlaces, storeOf: daemon.coordinator)
      let access = PathAccess(path, submitter, sparing: own)
      return Self.json(access.reply(daemon: try UserIdentity.ofThisProcess()).json)
    } catch {
      return .failure(503, code: "users", message: "the user database can't be asked: \(error)")
    }
  }

  private static func number(of name: String) throws(SystemError) -> UInt32? {
    if let number = UInt32(name) { return number }
    return try UserAccount.find(name)?.user
  }
}

/// The access that the jobs of a user have to a path.
private struct PathAccess {
  private let path: String
  private let user: UserIdentity
  private let own: OwnFolders
  /// Nil for what is not there, or can't be reached.
  private let kind: FileStatus.Kind?
  private var isFolder: Bool { kind == .directory }

  init(_ path: String, _ user: UserIdentity, sparing own: OwnFolders) {
    (self.path, self.user, self.own) = (path, user, own)
    kind = try? user.kindOfFile(path)
  }

  func reply(daemon: UserIdentity) -> ExplainReply {
    ExplainReply(
      path: path, user: user.description, daemon: daemon.description, isFolder: isFolder,
      reading: isFolder ? nil : .init(problem: problem { () throws(PathProblem) in _ = try user.openFile(path) }),
      writing: .init(problem: problem { () throws(PathProblem) in try write() }))
  }

  private func problem(_ body: () throws(PathProblem) -> Void) -> String? {
    do throws(PathProblem) {
      try body()
      return nil
    } catch {
      return error.description
    }
  }

  /// Finds out if files can be made there, without making one.
  private func write() throws(PathProblem) {
    let output = isFolder ? path + "/file" : path
    let (folder, _) = try user.openFolder(ofOutput: output)
    try own.refuse(folder)
    if let kind, !isFolder, kind != .regular { throw PathProblem("something other than a file is there") }
    do throws(SystemError) { try folder.checkWritable() } catch {
      throw PathProblem(error, writing: output, in: folder.path)
    }
  }
}
