import ObjectModel

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
