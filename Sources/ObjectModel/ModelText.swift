import Foundation

/// Writes the parts of a model that a migration needs as the XML of a model file, which a store keeps.
///
/// Defaults and validation rules are left out: they matter in the new model only.
package enum ModelText {
  /// The text that `ManagedObjectModel(xml:)` reads back, with the same version hashes.
  package static func xml(_ model: ManagedObjectModel) -> String {
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<model>\n"
    for entity in model.entities { append(entity.entityDescription, to: &text) }
    return text + "</model>\n"
  }

  private static func append(_ entity: EntityDescription, to text: inout String) {
    text += "<entity" + attribute("name", entity.name) + attribute("parentEntity", entity.parent)
    text += flag("isAbstract", entity.isAbstract) + attribute("elementID", entity.renamingIdentifier)
    text += attribute("versionHashModifier", entity.versionHashModifier) + ">\n"
    for attribute in entity.attributes { append(attribute, to: &text) }
    for relationship in entity.relationships { append(relationship, to: &text) }
    if !entity.uniquenessConstraints.isEmpty {
      text += "<uniquenessConstraints>\n"
      for constraint in entity.uniquenessConstraints {
        let values = constraint.map { "<constraint\(attribute("value", $0))/>" }.joined()
        text += "<uniquenessConstraint>\(values)</uniquenessConstraint>\n"
      }
      text += "</uniquenessConstraints>\n"
    }
    text += "</entity>\n"
  }

  private static func append(_ description: AttributeDescription, to text: inout String) {
    text += "<attribute" + attribute("name", description.name)
    text += attribute("attributeType", description.type.rawValue) + flag("optional", description.isOptional)
    text += flag("transient", description.isTransient)
    text += flag("allowsExternalBinaryDataStorage", description.allowsExternalBinaryDataStorage)
    if let derivation = description.derivation {
      text += flag("derived", true) + attribute("derivationExpression", derivation)
    }
    text += attribute("elementID", description.renamingIdentifier)
    text += attribute("versionHashModifier", description.versionHashModifier) + "/>\n"
  }

  private static func append(_ description: RelationshipDescription, to text: inout String) {
    text += "<relationship" + attribute("name", description.name)
    text += attribute("destinationEntity", description.destinationEntity)
    text += attribute("inverseName", description.inverse) + flag("toMany", description.isToMany)
    text += flag("ordered", description.isOrdered) + flag("optional", description.isOptional)
    text += flag("transient", description.isTransient) + attribute("deletionRule", description.deleteRule.rawValue)
    text += count("minCount", description.minimumCount) + count("maxCount", description.maximumCount)
    text += attribute("elementID", description.renamingIdentifier)
    text += attribute("versionHashModifier", description.versionHashModifier) + "/>\n"
  }

  private static func flag(_ name: String, _ isSet: Bool) -> String { isSet ? " \(name)=\"YES\"" : "" }

  private static func count(_ name: String, _ count: Int) -> String { count == 0 ? "" : " \(name)=\"\(count)\"" }

  private static func attribute(_ name: String, _ value: String?) -> String {
    guard let value else { return "" }
    var escaped = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case "\"": escaped += "&quot;"
      case "\n", "\r", "\t": escaped += "&#\(scalar.value);"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return " \(name)=\"\(escaped)\""
  }
}
