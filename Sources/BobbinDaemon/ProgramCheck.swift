import Configuration
import Glibc
import ProgramHandler
import Synchronization
import SystemSupport

/// A look at the programs that the daemon starts for jobs, whether they can be executed: the helper for pictures, and those
/// of declared types.
struct ProgramCheck {
  /// Everything that keeps a program from being executed.
  private(set) var errors: [any Error] = []
  /// Programs that are missing and that a daemon with handlers of its own may do without.
  private(set) var warnings: [String] = []

  /// - Parameter imageHelper: the path of `bobbin-image`.
  init(imageHelper: String, _ types: [DeclaredType]) {
    do {
      try Self.check(imageHelper)
    } catch let error as SystemError where error.code == .noEntry {
      warnings.append("no picture can be encoded: \(imageHelper) is missing; install it beside the daemon")
    } catch {
      errors.append(error)
    }
    for type in types {
      do throws(ConfigurationProblem) { try type.checkProgram() } catch {
        errors.append(ConfigurationError(problems: [error]))
      }
    }
  }

  /// The helper for pictures can't be executed, or not with the libraries that there are.
  struct HelperError: Error, CustomStringConvertible {
    let description: String
  }

  private static let limit = Duration.seconds(20)

  /// Starts the helper as nobody should: with its libraries loaded, it says so and ends.
  private static func check(_ imageHelper: String) throws {
    let ended = Latch()
    let status = Mutex<Termination.Status?>(nil)
    let child: ChildProcess
    do throws(SystemError) { child = try ChildProcess.start(ChildLaunch(executable: imageHelper)) } catch {
      if error.code == .noEntry { throw error }
      throw HelperError(description: "no picture can be encoded: \(error)")
    }
    Task {
      let end = try? await child.termination().status
      status.withLock { $0 = end }
      ended.open()
    }
    guard ended.wait(for: limit) else {
      try child.kill(SIGKILL)
      throw HelperError(description: "no picture can be encoded: \(imageHelper) does not answer")
    }
    let end = status.withLock { $0 }
    if end == .exited(code: EX_USAGE) { return }
    let how = end.map { "\($0)" } ?? "ended"
    throw HelperError(
      description: "no picture can be encoded: \(imageHelper) \(how) when it was tried; start it by hand to see why")
  }
}
