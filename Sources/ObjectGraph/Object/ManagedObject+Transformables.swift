import Foundation
import ObjectModel

// Values of Codable types in Transformable attributes, as JSON. Cost: they are encoded and decoded at each access.

extension ManagedObject {
  /// The value of a transformable; nil if it is nil or can't be decoded, and then the context's next save throws the
  /// error.
  public final subscript<Value: Codable>(transformable slot: Int, as type: Value.Type) -> Value? {
    get {
      guard let data = self[data: slot] else { return nil }
      do { return try JSONDecoder().decode(type, from: data) } catch {
        registry?.noteFaultFailure(TransformableFailure(entity.properties[slot], entity, type, error))
        return nil
      }
    }
    set {
      guard let newValue else { return self[data: slot] = nil }
      do { self[data: slot] = try Self.encoder.encode(newValue) } catch {
        registry?.noteFaultFailure(TransformableFailure(entity.properties[slot], entity, type, error))
      }
    }
  }

  /// Returns the value of a transformable by name; see ``subscript(transformable:as:)``. An unknown name traps.
  public final func transformedValue<Value: Codable>(_ type: Value.Type, forKey key: String) -> Value? {
    self[transformable: requireProperty(key).slot, as: type]
  }

  /// Sets a transformable by name.
  public final func setTransformedValue<Value: Codable>(_ value: Value?, forKey key: String) {
    self[transformable: requireProperty(key).slot, as: Value.self] = value
  }

  /// Equal values give equal bytes, so that setting one again is no change.
  private static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}

/// The error of a transformable that could not be read or set; the next save throws it.
struct TransformableFailure: Error, CustomStringConvertible {
  let description: String

  init(_ property: Property, _ entity: Entity, _ type: Any.Type, _ error: any Error) {
    description = "\(entity.name).\(property.name) can't be converted from or to \(type): \(error)"
  }
}
