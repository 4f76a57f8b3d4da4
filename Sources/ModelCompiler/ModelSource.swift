import Foundation
import ObjectModel

/// The Swift file for a model: the model itself as text, and a class for each entity that names one.
struct ModelSource {
  let text: String
  /// The mistakes in the model that were ignored.
  let warnings: [ModelError]

  /// - Throws: ``ModelError`` for what the model reader refuses, and for names that Swift can't have.
  init(bundle: URL, access: AccessLevel) throws(ModelError) {
    let (xml, file) = try ModelBundle(bundle).contents()
    let modelFile = try ModelFile(xml: xml, file: file.path)
    guard let decoded = String(validating: xml, as: UTF8.self) else {
      throw ModelError(.malformed, "the model is not UTF-8 text", file: file.path, line: 1)
    }
    let classes = try GeneratedClasses(modelFile, file: file.path)
    warnings = modelFile.model.warnings + classes.warnings
    let title = String(bundle.deletingPathExtension().lastPathComponent.map { $0.isNewline ? " " : $0 })
    var modelName = Self.typeName(title)
    while classes.names.contains(modelName) || SwiftNames.reservedClasses.contains(modelName) { modelName += "Model" }

    // Where a property is called as a type, the type's name alone would mean the property.
    let names = SwiftNames(declared: classes.names.union([modelName]).union(classes.namesOfProperties))
    var source = SourceText()
    source.add("// Compiled from the model \(title); changes belong there.")
    source.add("")
    // A public import that no public declaration needs is a warning, and so would be one that is missing.
    source.add((classes.showsFoundation ? access.modifier : "") + "import Foundation")
    source.add("\(access.modifier)import \(classes.generated.isEmpty ? "ObjectModel" : "ObjectGraph")")
    source.add("")
    source.add("/// The model `\(title)`, compiled in.")
    source.add("\(access.modifier)enum \(SwiftNames.escaped(modelName)) {")
    source.indented { source in
      Self.addModel(
        to: &source, xml: decoded, fileName: bundle.lastPathComponent, classes: classes, names: names, access: access)
    }
    source.add("}")
    for entity in classes.generated {
      source.add("")
      ClassSource(entity, classes: classes, names: names, access: access).add(to: &source)
    }
    text = source.text
  }

  private static func addModel(
    to source: inout SourceText, xml: String, fileName: String, classes: GeneratedClasses, names: SwiftNames,
    access: AccessLevel
  ) {
    let type = names.library("ManagedObjectModel")
    source.add("/// The model with the classes below; resolved at the first use.")
    source.add("\(access.modifier)static let model: \(type) = {")
    source.indented { source in
      source.add("do {")
      source.indented { source in
        source.add("return try \(type)(")
        source.indented { source in
          source.add(
            "xml: \(names.library("Data"))(xml.utf8), classes: classes, file: \(SwiftNames.literal(fileName)))")
        }
      }
      source.add("} catch {")
      source.indented { source in
        source.add("// The same text was read when it was compiled.")
        source.add("preconditionFailure(\"the compiled model can't be read: \\(error)\")")
      }
      source.add("}")
    }
    source.add("}()")
    source.add("")
    source.add("private static var classes: [\(names.library("String")): \(names.library("AnyClass"))] {")
    source.indented { source in
      source.add(
        list: classes.entities.compactMap { entity in
          guard let key = classes.key(of: entity), let name = classes.name(of: entity) else { return nil }
          return (SwiftNames.literal(key), "\(SwiftNames.escaped(name)).self")
        })
    }
    source.add("}")
    source.add("")
    source.add("private static let xml = ")
    source.append(rawString: xml)
  }

  /// A type's name for a model's: what Swift doesn't allow becomes an underscore.
  private static func typeName(_ title: String) -> String {
    let name = String(title.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
    return SwiftNames.isIdentifier(name) ? name : "Model" + name
  }
}

/// A file that keeps its modification date if its content is the same, so that nothing is compiled again for it.
struct GeneratedFile {
  private let url: URL

  init(_ url: URL) { self.url = url }

  func write(_ text: String) throws {
    let data = Data(text.utf8)
    if let present = try? Data(contentsOf: url), present == data { return }
    try data.write(to: url, options: .atomic)
  }
}

/// A mistake in a model, in the form that build systems and editors recognise: `path:line: error: message`.
struct Diagnostic {
  let text: String

  enum Severity: String {
    case error, warning
  }

  init(_ severity: Severity, _ error: ModelError) {
    var text = error.file ?? "ModelCompiler"
    if let line = error.line { text += ":\(line)" }
    text += ": \(severity): "
    if let entity = error.entity { text += entity + (error.property.map { "." + $0 } ?? "") + ": " }
    self.text = text + error.message
  }
}
