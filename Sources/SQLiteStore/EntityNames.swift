import ObjectModel
import StoreInterface

/// The names of a model's entities as bytes that stay in place, to be bound without a copy.
final class EntityNames: @unchecked Sendable {
  // @unchecked: the memory is written in the initializer and only read afterwards.

  private let memory: [UnsafeMutableRawBufferPointer]

  init(_ model: ManagedObjectModel) {
    memory = model.entities.map { entity in
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: entity.name.utf8.count, alignment: 1)
      bytes.copyBytes(from: entity.name.utf8)
      return bytes
    }
  }

  deinit { for bytes in memory { bytes.deallocate() } }

  subscript(entityIndex: UInt16) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory[Int(entityIndex)]) }
}
