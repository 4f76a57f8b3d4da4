import HTTPService
import JSONText
import Jobs
import ObjectGraph
import StatusReplies

/// The request about what imports can go into, and what can be queried.
extension StatusService {
  func addEntities(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/entities", needs: .reading,
      as: .init("What imports can go into, and what can be queried", .reply(EntitiesReply.self))
    ) { _, _ in .now(Self.json(self.entities().json)) }
  }

  private func entities() -> EntitiesReply {
    let model = daemon.coordinator.model
    let importable = BuiltInModel.importable(of: model)
    let names = Set(importable.map(\.name))
    return EntitiesReply(
      entities: importable.map(Self.reply).sorted { $0.name < $1.name },
      readOnly: ObjectQuery.readable(in: model).filter { !names.contains($0.name) }.map(Self.reply)
        .sorted { $0.name < $1.name })
  }

  private static func reply(_ entity: Entity) -> EntitiesReply.Entity {
    let properties = entity.properties.filter { !$0.isHidden && !$0.isTransient }
    return EntitiesReply.Entity(
      name: entity.name,
      attributes: properties.compactMap { property in
        property.attribute.map {
          .init(name: property.name, type: $0.type.rawValue, isOptional: property.isOptional)
        }
      },
      relationships: properties.compactMap { property in
        property.relationship.map {
          .init(
            name: property.name, destination: $0.destinationEntity, isToMany: $0.isToMany,
            isOptional: property.isOptional)
        }
      })
  }
}
