import Foundation
import ObjectModel

/// A model's XML with the elements between `<model>` and `</model>`; they begin in line 2.
func modelXML(_ elements: String) -> Data {
  Data("<model type=\"com.apple.IDECoreDataModeler.DataModel\">\n\(elements)\n</model>\n".utf8)
}

/// The model of those elements.
func model(_ elements: String) throws -> ManagedObjectModel {
  try ManagedObjectModel(xml: modelXML(elements), file: "M/contents")
}

/// The error of a model that can't be read.
func modelError(_ elements: String) -> ModelError? { modelError(xml: modelXML(elements)) }

func modelError(xml: Data) -> ModelError? {
  do throws(ModelError) {
    _ = try ManagedObjectModel(xml: xml, file: "M/contents")
    return nil
  } catch {
    return error
  }
}
