import Synchronization

/// The configuration in force, which a reload replaces.
package final class ConfigurationBox: Sendable {
  private let current: Mutex<Configuration>

  package init(_ configuration: Configuration) { current = Mutex(configuration) }

  package var value: Configuration { current.withLock { $0 } }

  /// Puts another one into force.
  package func replace(_ configuration: Configuration) { current.withLock { $0 = configuration } }
}
