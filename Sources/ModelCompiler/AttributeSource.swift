import Foundation
import ObjectModel

/// The accessors of an attribute.
struct AttributeSource {
  private let attribute: AttributeDescription
  /// The name in Swift.
  private let name: String
  private let slot: Int
  private let owner: ClassSource

  init(_ attribute: AttributeDescription, _ property: Property, _ owner: ClassSource) {
    self.attribute = attribute
    name = owner.swiftName(of: property.name)
    slot = property.slot
    self.owner = owner
  }

  func add(to source: inout SourceText) {
    switch attribute.type {
    case .integer16: addNumber("Int16", "integer", &source) { "\($0)(truncatingIfNeeded: \($1))" }
    case .integer32: addNumber("Int32", "integer", &source) { "\($0)(truncatingIfNeeded: \($1))" }
    case .integer64: addNumber("Int64", "integer", &source)
    case .double: addNumber("Double", "real", &source)
    case .float: addNumber("Float", "real", &source) { "\($0)(\($1))" }
    case .boolean: addNumber("Bool", "boolean", &source)
    case .string: addValue("String", "text", &source)
    case .date: addValue("Date", "date", &source)
    case .uuid: addValue("UUID", "uuid", &source)
    case .uri: addValue("URL", "url", &source)
    case .decimal: addValue("Decimal", "decimal", &source)
    case .transformable: addTransformable(&source)
    case .undefined: addUndefined(&source)
    case .binary:
      addValue("Data", "data", &source)
      addBlob(&source)
    }
  }

  /// - Parameter narrow: The expression that makes the attribute's type of the wide type that rows have.
  private func addNumber(
    _ libraryType: String, _ label: String, _ source: inout SourceText,
    narrow: ((_ type: String, _ value: String) -> String)? = nil
  ) {
    let type = owner.library(libraryType)
    let wide = owner.library(label == "integer" ? "Int64" : label == "real" ? "Double" : "Bool")
    if attribute.isOptional && !attribute.usesScalarValue {
      let place = "self[optional\(label.prefix(1).uppercased() + label.dropFirst()): \(slot)]"
      add(
        type: type + "?", get: narrow.map { "\(place).map { \($0(type, "$0")) }" } ?? place,
        set: place + (narrow == nil ? " = newValue" : " = newValue.map { \(wide)($0) }"), &source)
    } else {
      let place = "self[\(label): \(slot)]"
      add(
        type: type, get: narrow.map { $0(type, place) } ?? place,
        set: place + (narrow == nil ? " = newValue" : " = \(wide)(newValue)"), &source)
    }
  }

  /// A value is optional unless the attribute is not and has a default, which is then read in place of nil.
  private func addValue(_ libraryType: String, _ label: String, _ source: inout SourceText) {
    let type = owner.library(libraryType)
    let place = "self[\(label): \(slot)]"
    guard !attribute.isOptional, let fallback = Fallback(attribute, name: name, type: type) else {
      return add(type: type + "?", get: place, set: "\(place) = newValue", &source)
    }
    if let construction = fallback.construction {
      source.add("")
      source.add("private static let \(fallback.constant): \(type) = {")
      source.indented { source in
        source.add("guard let value = \(construction) else {")
        source.indented { $0.add("preconditionFailure(\"the default of \(name) was checked when it was compiled\")") }
        source.add("}")
        source.add("return value")
      }
      source.add("}()")
    }
    add(type: type, get: "\(place) ?? \(fallback.expression)", set: "\(place) = newValue", &source)
  }

  /// A value of the class that the model names; the data itself if it names none, or one of Objective-C.
  private func addTransformable(_ source: inout SourceText) {
    guard let type = attribute.swiftClassName else { return addValue("Data", "data", &source) }
    let place = "self[transformable: \(slot), as: \(type).self]"
    add(type: type + "?", get: place, set: "\(place) = newValue", &source)
  }

  /// A value in memory, of the type that the user info names.
  private func addUndefined(_ source: inout SourceText) {
    let named = attribute.userInfo[AttributeDescription.typeKey]
    let type = named ?? "(any \(owner.library("Sendable")))"
    let place = "self[undefined: \(slot), as: \(type).self]"
    add(type: type + "?", get: place, set: "\(place) = newValue", &source)
  }

  private func addBlob(_ source: inout SourceText) {
    let blobName = name + "Blob"
    guard !owner.hasProperty(named: blobName) else { return }
    let place = "self[blob: \(slot)]"
    owner.addProperty(
      blobName, type: owner.library("Blob") + "?", get: place, set: "\(place) = newValue",
      documentation: "The data of `\(name)` by reference: reading it loads nothing.", to: &source)
  }

  /// Adds a property, read-only if it is derived.
  private func add(type: String, get: String, set: String, _ source: inout SourceText) {
    owner.addProperty(
      name, type: type, get: get, set: attribute.derivation == nil ? set : nil,
      documentation: attribute.userInfo["documentation"], to: &source)
  }
}

extension AttributeDescription {
  /// The key in the user info that names the Swift type of a transformable or an attribute without a type.
  static let typeKey = "bobbin.type"

  /// The Swift type of a transformable's values, which must be Codable; nil if it is Data.
  var swiftClassName: String? {
    guard type == .transformable else { return nil }
    if let told = userInfo[Self.typeKey], !told.isEmpty { return told }
    guard let name = namedClass, !Self.isForeign(name), Self.isSwiftType(name) else { return nil }
    return name
  }

  /// True if the model names a type that is invalid in Swift.
  var hasInvalidClassName: Bool {
    guard type == .transformable, userInfo[Self.typeKey] == nil, let name = namedClass else { return false }
    return !Self.isForeign(name) && !Self.isSwiftType(name)
  }

  /// The class that the model names; ".Dataset" is the editor's spelling of "this module's Dataset".
  private var namedClass: String? {
    guard let name = customClassName?.drop(while: { $0 == "." }), !name.isEmpty else { return nil }
    return String(name)
  }

  private static func isSwiftType(_ name: String) -> Bool {
    name.wholeMatch(of: /[\p{L}_\[][\p{L}\p{N}_.,:<>?\[\] ]*/) != nil
  }

  /// True if a type has a part that isn't Codable or that exists on Apple's systems only.
  private static func isForeign(_ name: String) -> Bool {
    words(name).contains { word in
      word.prefixMatch(of: /(NS|UI)\p{Lu}/) != nil || foreignTypes.contains(String(word))
    }
  }

  /// True if a type has a part that Foundation declares.
  static func namesFoundation(_ type: String) -> Bool { words(type).contains { foundationTypes.contains(String($0)) } }

  private static func words(_ type: String) -> [Substring] {
    type.split { !($0.isLetter || $0.isNumber || $0 == "_") }
  }

  private static let foundationTypes: Set<String> = [
    "AttributedString", "CGFloat", "CGPoint", "CGRect", "CGSize", "Calendar", "CharacterSet", "Data", "Date",
    "DateComponents", "DateInterval", "Decimal", "Foundation", "IndexPath", "IndexSet", "Locale", "Measurement",
    "PersonNameComponents", "TimeInterval", "TimeZone", "URL", "URLComponents", "URLRequest", "UUID",
  ]

  private static let foreignTypes: Set<String> = [
    "AVAsset", "Any", "AnyClass", "AnyHashable", "AnyObject", "CKRecord", "CKRecordID", "CKShare", "CLCircularRegion",
    "CLLocation", "CLLocationCoordinate2D", "CLPlacemark", "CLRegion", "CNContact", "MKMapItem", "MKPlacemark",
    "PKDrawing", "id",
  ]
}
