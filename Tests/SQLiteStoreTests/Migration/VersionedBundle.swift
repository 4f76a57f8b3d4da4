import Foundation
import ObjectModel

/// A model with versions as the model editor writes it: people, and in each ten versions a new entity that they are
/// related to, which goes through every kind of change that can be inferred.
struct VersionedBundle {
  static let versionCount = 100
  let url: URL

  /// Writes the bundle into a folder.
  init(in folder: URL) throws {
    url = folder.appendingPathComponent("History.xcdatamodeld")
    for version in 0..<Self.versionCount {
      let model = url.appendingPathComponent("History \(version).xcdatamodel")
      try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
      try Data(Self.xml(version).utf8).write(to: model.appendingPathComponent("contents"))
    }
    let current = ["_XCCurrentVersionName": "History \(Self.versionCount - 1).xcdatamodel"]
    try PropertyListSerialization.data(fromPropertyList: current, format: .xml, options: 0)
      .write(to: url.appendingPathComponent(".xccurrentversion"))
  }

  /// How far an entity that was added by the version `10 * cycle` has come.
  struct Cycle {
    let number: Int
    /// The changes since it was added: 0 to 9.
    let step: Int

    init(_ number: Int, version: Int) {
      self.number = number
      step = min(9, version - 10 * number)
    }

    var entity: String { step >= 8 ? "F\(number)" : "E\(number)" }
    var title: String { step >= 2 ? "title" : "label" }
    var isToMany: Bool { step >= 3 }
    /// The people's relationship.
    var relationship: String { isToMany ? "es\(number)" : "e\(number)" }
    var people: String { "people\(number)" }
    var isOrdered: Bool { number.isMultiple(of: 2) }
    var hasRequiredSize: Bool { step >= 5 }
    var isInherited: Bool { step >= 6 }
    var isDerived: Bool { step >= 7 }
  }

  /// The cycles whose entity exists in a version: the last one, and until it is done, the one before.
  static func cycles(_ version: Int) -> [Cycle] {
    let last = version / 10
    let before = last > 0 && version % 10 < 9 ? [Cycle(last - 1, version: version)] : []
    return before + [Cycle(last, version: version)]
  }

  /// The people's name attribute, which is renamed in each cycle.
  static func name(_ version: Int) -> String { version < 4 ? "name" : "name\((version - 4) / 10)" }

  private static func xml(_ version: Int) -> String {
    let cycles = cycles(version)
    let formerName = version < 14 ? "name" : "name\((version - 4) / 10 - 1)"
    let isExternal = (version + 1) / 10 % 2 == 0
    var text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" userDefinedModelVersionIdentifier="\(version)">
        <entity name="Person" syncable="YES">
          <attribute name="\(name(version))" optional="YES" attributeType="String"\
      \(version < 4 ? "" : " elementID=\"\(formerName)\"")/>
          <attribute name="photo" optional="YES" attributeType="Binary"\
      \(isExternal ? " allowsExternalBinaryDataStorage=\"YES\"" : "")/>

      """
    for cycle in cycles {
      text += """
            <relationship name="\(cycle.relationship)" optional="YES"\(cycle.isToMany ? " toMany=\"YES\"" : "") \
        deletionRule="Nullify" destinationEntity="\(cycle.entity)" inverseName="\(cycle.people)"\
        \(cycle.isToMany ? " elementID=\"e\(cycle.number)\"" : "")/>

        """
    }
    text += "  </entity>\n"
    if version >= 6 { text += "  <entity name=\"Base\" isAbstract=\"YES\" syncable=\"YES\"/>\n" }
    for cycle in cycles { text += xml(cycle) }
    return text + "</model>\n"
  }

  private static func xml(_ cycle: Cycle) -> String {
    let traits =
      (cycle.step >= 8 ? " elementID=\"E\(cycle.number)\"" : "") + (cycle.isInherited ? " parentEntity=\"Base\"" : "")
    let title = cycle.step >= 2 ? " elementID=\"label\"" : ""
    let size =
      (cycle.step >= 1 ? "Integer 32" : "Integer 16") + "\" "
      + (cycle.hasRequiredSize ? "defaultValueString=\"5\"" : "optional=\"YES\"")
    var text = """
        <entity name="\(cycle.entity)" syncable="YES"\(traits)>
          <attribute name="\(cycle.title)" attributeType="String" defaultValueString="new"\(title)/>
          <attribute name="size" attributeType="\(size)/>
          <relationship name="\(cycle.people)" optional="YES" toMany="YES"\(cycle.isOrdered ? " ordered=\"YES\"" : "") \
      deletionRule="Nullify" destinationEntity="Person" inverseName="\(cycle.relationship)"/>

      """
    if cycle.isDerived {
      text += """
            <attribute name="peopleCount" optional="YES" attributeType="Integer 64" derived="YES" \
        derivationExpression="\(cycle.people).@count"/>
            <fetchIndex name="bySize"><fetchIndexElement property="size" order="descending"/></fetchIndex>

        """
    }
    return text + "  </entity>\n"
  }
}
