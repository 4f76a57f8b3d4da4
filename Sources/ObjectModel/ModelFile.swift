package import Foundation

/// A model with the places of its parts in the file it was read from, for tools that report on that file.
package struct ModelFile {
  package let model: ManagedObjectModel
  private let reader: ModelReader

  package init(xml: Data, classes: [String: AnyClass] = [:], file: String?) throws(ModelError) {
    reader = ModelReader(file: file)
    try reader.read(xml)
    model = try ManagedObjectModel(reader, classes: classes, file: file)
  }

  /// Adds the line of the entity or property that the error names.
  package func placing(_ error: ModelError) -> ModelError { reader.placing(error) }
}
