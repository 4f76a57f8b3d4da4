public import Foundation

extension ManagedObjectModel {
  /// Reads a model from an `.xcdatamodeld` or `.xcdatamodel` bundle, or from the `contents` file of one.
  ///
  /// - Parameters:
  ///   - url: The bundle's folder.
  ///   - version: The name of a version in an `.xcdatamodeld` bundle; nil for the one in `.xccurrentversion`,
  ///     or the only one.
  ///   - classes: The Swift classes of objects by their name in the model.
  /// - Throws: ``ModelError`` that names file, line, entity and property.
  public convenience init(
    contentsOf url: URL, version: String? = nil, classes: [String: AnyClass] = [:]
  ) throws(ModelError) {
    let (xml, file) = try ModelBundle(url).contents(version: version)
    try self.init(xml: xml, classes: classes, file: file.path)
  }

  /// Reads a model from the XML of an `.xcdatamodel`'s `contents` file.
  ///
  /// - Parameters:
  ///   - xml: The text of the file.
  ///   - classes: The Swift classes of objects by their name in the model.
  ///   - file: The path to name in errors.
  /// - Throws: ``ModelError`` that names line, entity and property.
  public convenience init(xml: Data, classes: [String: AnyClass] = [:], file: String? = nil) throws(ModelError) {
    let reader = ModelReader(file: file)
    try reader.read(xml)
    try self.init(reader, classes: classes, file: file)
  }

  /// Resolves what a file says.
  convenience init(_ reader: ModelReader, classes: [String: AnyClass], file: String?) throws(ModelError) {
    do throws(ModelError) {
      try self.init(
        reader.entities, classes: classes, configurations: reader.configurations,
        fetchRequestTemplates: reader.fetchRequestTemplates, versionIdentifiers: reader.versionIdentifiers, file: file,
        warnings: reader.warnings)
    } catch {
      throw reader.placing(error)
    }
  }
}
