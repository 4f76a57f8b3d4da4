import StoreInterface

extension Operand {
  /// Whether the operand is the same for all objects.
  var isConstant: Bool {
    switch self {
    case .value, .object: true
    case .evaluatedObject, .keyPath, .variable, .variablePath, .arithmetic, .function, .aggregate, .entityName: false
    }
  }
}
