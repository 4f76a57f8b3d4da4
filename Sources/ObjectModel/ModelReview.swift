package import Foundation

/// All that is wrong with a model's file, for tools; whoever only reads the model is told the first mistake.
package struct ModelReview {
  /// Nil if there are errors.
  package let model: ManagedObjectModel?
  /// The mistakes that keep the model from being used, in the order of their lines. Those that only show once others
  /// are mended are missing.
  package let errors: [ModelError]
  /// The mistakes that are ignored or repaired.
  package let warnings: [ModelError]

  /// - Parameter file: the path to name in errors.
  package init(xml: Data, file: String) {
    let reader = ModelReader(file: file, findsAllErrors: true)
    let errors: [ModelError]
    do throws(ModelError) {
      try reader.read(xml)
      errors = reader.errors
    } catch {
      // Of a text that is no model, what was read says little.
      errors = [error]
    }
    warnings = reader.warnings
    guard errors.isEmpty else {
      model = nil
      self.errors = errors
      return
    }
    var resolver = ModelResolver(reader.entities, classes: [:], file: file)
    do throws(ModelError) {
      _ = try resolver.resolve()
      model = try ManagedObjectModel(reader, classes: [:], file: file)
      self.errors = []
    } catch {
      let found = resolver.errors.isEmpty ? [error] : resolver.errors
      self.errors = found.map(reader.placing).sorted { ($0.line ?? 0) < ($1.line ?? 0) }
      model = nil
    }
  }
}
