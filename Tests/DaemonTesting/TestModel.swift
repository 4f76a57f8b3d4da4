/// The model of rows that the tests import.
package enum TestModel {
  package static let text = model(
    """
    <entity name="Reading" representedClassName="Reading" syncable="YES">
      <attribute name="job" optional="YES" attributeType="String"/>
      <attribute name="number" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
      <attribute name="note" optional="YES" attributeType="String"/>
    </entity>
    """)

  package static func model(_ entities: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    \(entities)
    </model>

    """
  }

  /// A job file that imports a CSV of `payload/` into the entity.
  package static func importJob(_ id: String, _ input: String) -> String {
    #"{"type": "import", "id": "\#(id)", "arguments": {"input": "\#(input)", "entity": "Reading"}}"#
  }
}
