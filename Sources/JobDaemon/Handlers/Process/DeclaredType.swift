package import Configuration
package import Jobs
import SystemSupport

/// A job type declared in `handlers.d`, checked as far as that goes without running its program.
package struct DeclaredType: Sendable {
  package let definition: HandlerDefinition
  /// Who the program runs as; nil for the daemon's user.
  let account: UserAccount?

  /// The types that the files of a configuration declare.
  ///
  /// - Parameter own: the handlers that the program brings; their types can't be declared, as little as built-in ones.
  /// - Throws: everything that is wrong in any of the files, by file, line and key.
  package static func load(_ paths: Paths, besides own: [any JobHandler]) throws(ConfigurationError) -> [DeclaredType] {
    var types: [DeclaredType] = []
    var problems: [ConfigurationProblem] = []
    let taken = HandlerTypes.builtIn.union(own.map(\.type))
    for definition in try HandlerDefinition.load(folder: paths.handlers, builtInTypes: taken) {
      do throws(ConfigurationProblem) {
        types.append(DeclaredType(definition: definition, account: try account(of: definition)))
      } catch {
        problems.append(error)
      }
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return types
  }

  private static func account(of definition: HandlerDefinition) throws(ConfigurationProblem) -> UserAccount? {
    guard let name = definition.user else { return nil }
    let found: UserAccount?
    do throws(SystemError) {
      found = try UserAccount.find(name)
    } catch {
      throw definition.problem("User", "can't be looked up: \(error)")
    }
    guard let found else { throw definition.problem("User", "there is no such user") }
    if found.user == Credentials.effectiveUser { return nil }
    guard Credentials.effectiveUser == 0 else {
      throw definition.problem("User", "only a daemon that runs as root can start programs of other users")
    }
    return found
  }
}
