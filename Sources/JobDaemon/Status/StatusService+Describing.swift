import Configuration
import HTTPService
import Jobs
import StatusReplies

/// Requests about what the daemon is made for: the types of its jobs, and the configuration in force.
extension StatusService {
  func addDescriptions(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/types", needs: .reading,
      as: .init("The types of jobs, with the schemas of their arguments", .reply(TypesReply.self))
    ) { _, _ in .now(Self.json(self.types().json)) }
    router.on(
      .get, "/v1/configuration", needs: .reading,
      as: .init("The configuration in force, without secrets", .reply(ConfigurationReply.self))
    ) { _, _ in .now(Self.json(self.configuration().json)) }
  }

  private func types() -> TypesReply {
    TypesReply(
      types: daemon.handlers.types.compactMap { type in
        daemon.handlers[type].map { TypesReply.JobType(name: type, schema: $0.argumentSchema) }
      })
  }

  private func configuration() -> ConfigurationReply {
    var sections: [ConfigurationReply.Section] = []
    for value in daemon.configuration.value.values {
      let setting = ConfigurationReply.Setting(
        key: value.key, value: value.text, isChanged: value.isChanged,
        effect: value.effect == .onReload ? "reload" : "restart")
      if sections.last?.name == value.section {
        sections[sections.count - 1].settings.append(setting)
      } else {
        sections.append(ConfigurationReply.Section(name: value.section, settings: [setting]))
      }
    }
    return ConfigurationReply(sections: sections)
  }
}
