extension Property {
  /// The type and the rules in words, such as `String, optional, default "new"`.
  package var shape: String { ([typeName] + rules).joined(separator: ", ") }

  /// The type of an attribute, or the destination of a relationship: `to Department`, `to many Person`.
  package var typeName: String {
    switch kind {
    case .attribute(let attribute): attribute.type.rawValue
    case .relationship(let relationship):
      "to \(relationship.isToMany ? "many " : "")\(relationship.destinationEntity)"
    }
  }

  /// The rules beside the type, each in words.
  package var rules: [String] {
    switch kind {
    case .attribute(let attribute): attribute.rules
    case .relationship(let relationship): relationship.rules
    }
  }
}

extension AttributeDescription {
  fileprivate var rules: [String] {
    var rules: [String] = []
    if isOptional { rules.append("optional") }
    if let text = defaultValue.written { rules.append("default \(text)") }
    if isTransient { rules.append("transient") }
    if let derivation { rules.append("derived from \(derivation)") }
    let unit = type == .string ? " characters" : ""
    if let text = minimum.written { rules.append("at least \(text)\(unit)") }
    if let text = maximum.written { rules.append("at most \(text)\(unit)") }
    if let pattern { rules.append("matches \(pattern)") }
    if allowsExternalBinaryDataStorage { rules.append("large values in files") }
    if preservesValueInHistoryOnDeletion { rules.append("kept in the history") }
    if let valueTransformerName { rules.append("transformer \(valueTransformerName)") }
    if let renamingIdentifier { rules.append("renaming identifier \(renamingIdentifier)") }
    return rules
  }
}

extension RelationshipDescription {
  fileprivate var rules: [String] {
    var rules: [String] = []
    if isOptional { rules.append("optional") }
    if isOrdered { rules.append("ordered") }
    if isTransient { rules.append("transient") }
    if let inverse { rules.append("inverse \(inverse)") } else { rules.append("no inverse") }
    if deleteRule != .nullify { rules.append(deleteRule.rawValue.lowercased()) }
    if minimumCount > 0 { rules.append("at least \(minimumCount)") }
    if maximumCount > 0, isToMany { rules.append("at most \(maximumCount)") }
    if let renamingIdentifier { rules.append("renaming identifier \(renamingIdentifier)") }
    return rules
  }
}

extension Value {
  /// The value as messages about models show it; nil if there is none.
  package var written: String? {
    switch self {
    case .null: nil
    case .string(let text): "\"\(text)\""
    default: description
    }
  }
}
