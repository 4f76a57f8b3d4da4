import Configuration
import Fleet
import Foundation
import Jobs
import SystemSupport

/// The rule for files that jobs name and not all hosts of a fleet see: a job runs where they are, or takes copies along.
struct LocalFiles {
  let configuration: Configuration.Fleet
  let handlers: HandlerTable
  let payloadDirectory: String
  let spool: String

  /// The place where a job has to run: the one that it names, and where its files are.
  func place(of job: JobSpecification, isCopied: Bool = false) -> String? {
    FleetPlace(offered: job.place, site: site(of: job, isCopied: isCopied)).name
  }

  private func site(of job: JobSpecification, isCopied: Bool) -> FleetPlace.Site? {
    let named = handlers[job.type]?.paths(in: job.arguments)
    if !isCopied && named?.contains(where: isOfThisHost) == true { return .spool(spool) }
    // A type that only others handle may name files as well.
    return configuration.userDomain.isEmpty || named?.isEmpty == true ? nil : .users(of: configuration.userDomain)
  }

  /// Copies what a job reads, if that is all that keeps other hosts from running it.
  ///
  /// What waits for a time or for other jobs is not copied: its inputs may come by then, or change.
  /// - Parameter limit: the most bytes, beside what is configured.
  /// - Returns: nil if it has to run here.
  func copies(for job: JobSpecification, submitter: UInt32, limit: Int) -> [InputCopy]? {
    let limit = min(limit, configuration.copiedInputSize)
    if limit <= 0 || job.waitsForSomething { return nil }
    let paths = (handlers[job.type]?.paths(in: job.arguments) ?? []).filter(isOfThisHost)
    guard !paths.isEmpty, let inputs = handlers[job.type]?.inputs(in: job.arguments), Set(paths).isSubset(of: inputs)
    else { return nil }
    var copies: [InputCopy] = []
    var left = limit
    for path in Set(paths).sorted() {
      // What can't be read here, or changes meanwhile, is told by the job's handler, which runs here then.
      guard let copy = copy(path, submitter: submitter, limit: left) else { return nil }
      copies.append(copy)
      left -= copy.content.count
    }
    return copies
  }

  private func copy(_ path: String, submitter: UInt32, limit: Int) -> InputCopy? {
    guard let user = try? UserIdentity(lookingUp: submitter), let file = try? user.openFile(absolute(path)),
      let before = try? file.status(), before.size <= limit, let content = try? file.readAll(limit: limit),
      let after = try? file.status(), after.modificationTime == before.modificationTime, after.size == content.count
    else { return nil }
    return InputCopy(path: path, content: content, modificationTime: after.modificationTime)
  }

  /// True if other hosts do not see what has a path.
  private func isOfThisHost(_ path: String) -> Bool {
    let path = absolute(path)
    // Whoever climbs out of a folder has not named it.
    return path.contains("/../")
      || !configuration.sharedFolders.contains { path.hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") }
  }

  private func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : payloadDirectory + "/" + path }
}

extension JobSpecification {
  fileprivate var waitsForSomething: Bool {
    notBefore != nil || afterBatch != nil || !after.isEmpty || !afterAny.isEmpty
  }
}
