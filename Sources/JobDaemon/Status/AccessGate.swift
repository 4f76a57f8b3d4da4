package import Configuration
import HTTPService
import Synchronization
import SystemSupport

/// A token, and the user whose rights its jobs have.
package struct TokenGrant: Sendable {
  let token: AccessToken
  let credentials: PeerCredentials

  /// The user of tokens that name none, which the kernel, too, takes for nobody in particular.
  private static let nobody: UInt32 = 65_534

  /// Reads a file of tokens, which may be missing, and looks up their users.
  ///
  /// - Throws: ``ConfigurationError`` with all problems in it.
  package static func load(_ path: String) throws(ConfigurationError) -> [TokenGrant] {
    var grants: [TokenGrant] = []
    var problems: [ConfigurationProblem] = []
    for token in try AccessToken.load(path) {
      do throws(SystemError) {
        guard let credentials = try Self.credentials(of: token) else {
          problems.append(problem(of: token, in: path, "there is no user \"\(displayName(token.user ?? ""))\""))
          continue
        }
        if credentials.user == 0 {
          problems.append(problem(of: token, in: path, "a token can't have the rights of root; name another user"))
        }
        grants.append(TokenGrant(token: token, credentials: credentials))
      } catch {
        problems.append(problem(of: token, in: path, "its user can't be looked up: \(error)"))
      }
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return grants
  }

  private static func problem(of token: AccessToken, in path: String, _ text: String) -> ConfigurationProblem {
    ConfigurationProblem(code: .invalidValue, file: path, message: "the token \(token.name): \(text)")
  }

  private static func credentials(of token: AccessToken) throws(SystemError) -> PeerCredentials? {
    guard let name = token.user else { return PeerCredentials(processID: 0, user: nobody, group: nobody) }
    if let number = UInt32(name) {
      return PeerCredentials(
        processID: 0, user: number, group: try UserIdentity(lookingUp: number).primaryGroup ?? nobody)
    }
    return try UserAccount.find(name).map { PeerCredentials(processID: 0, user: $0.user, group: $0.group) }
  }
}

/// The tokens that let clients of TCP in, and the limit on wrong ones; a reload may replace the tokens.
package final class AccessGate: Sendable {
  /// The judgement of a request's `Authorization`.
  enum Verdict {
    case granted(TokenGrant)
    case missing
    /// No token, or none of ours.
    case wrong(FailedTries.Outcome)
  }

  private struct State {
    var grants: [TokenGrant]
    var failures = FailedTries()
  }

  private let state: Mutex<State>

  package init(_ grants: [TokenGrant] = []) { state = Mutex(State(grants: grants)) }

  /// Puts other tokens into force, and those that are not among them out of it.
  package func replace(_ grants: [TokenGrant]) { state.withLock { $0.grants = grants } }

  /// Judges the value of an `Authorization` header.
  ///
  /// A right token passes however many wrong ones came from its network: they can't be guessed, and nobody should be able
  /// to shut out those who share an address, such as that of a proxy. The limit is on what wrong ones cost.
  func judge(_ authorization: String?, of address: ClientAddress, at now: Int64) -> Verdict {
    guard let authorization else { return .missing }
    if let grant = grant(to: authorization) { return .granted(grant) }
    return .wrong(state.withLock { $0.failures.note(address.network, at: now) })
  }

  /// Finds the token that the value of an `Authorization` header has; a wrong one is not counted.
  func grant(to authorization: String?) -> TokenGrant? {
    let words = authorization?.split(separator: " ", omittingEmptySubsequences: true) ?? []
    if words.count == 2, words[0].lowercased() == "bearer", let hash = AccessToken.hash(ofSecret: String(words[1])) {
      // All are compared, so that the time tells nothing of their order.
      return state.withLock(\.grants).filter { $0.token.matches(hash) }.first
    }
    return nil
  }

  /// The role of a token in force.
  func role(ofToken name: String) -> AccessRole? {
    state.withLock { $0.grants.first { $0.token.name == name }?.token.role }
  }
}

/// The wrong tokens that came from each network in its current minute; a value without a clock.
///
/// Moments are milliseconds on a steady clock.
struct FailedTries {
  /// The place of a wrong token among those of its minute.
  enum Outcome: Equatable {
    /// One of those that are told of one by one.
    case counted
    /// The last one of these.
    case last
    /// One too many, with how many seconds are left of the minute.
    case tooMany(secondsLeft: Int64)
  }

  static let limit = 10
  private static let period: Int64 = 60_000
  /// The most networks that are remembered; more of them are counted as one.
  private static let networkLimit = 1_000

  private struct Count {
    var number = 0
    let end: Int64
  }

  private var counts: [String: Count] = [:]

  /// Counts a wrong token.
  mutating func note(_ network: String, at now: Int64) -> Outcome {
    var key = network
    if counts[key] == nil, counts.count >= Self.networkLimit {
      counts = counts.filter { $0.value.end > now }
      if counts.count >= Self.networkLimit { key = "" }
    }
    if let count = counts[key], count.end <= now { counts[key] = nil }
    let count = counts[key, default: Count(end: now + Self.period)]
    counts[key] = Count(number: count.number + 1, end: count.end)
    if count.number >= Self.limit { return .tooMany(secondsLeft: (count.end - now + 999) / 1000) }
    return count.number + 1 == Self.limit ? .last : .counted
  }
}
