package import JSONText

/// The reply of `GET /v1/types`: the types that jobs can have, by name.
package struct TypesReply: Decodable, Sendable {
  package struct JobType: Decodable, Sendable {
    package let name: String
    /// The JSON Schema of its arguments, which the daemon writes only; nil if it is not known.
    package var schema: JSONValue?

    private enum CodingKeys: String, CodingKey { case name }

    package init(name: String, schema: JSONValue?) { (self.name, self.schema) = (name, schema) }

    fileprivate var json: JSONValue { .object(["name": .string(name), "schema": schema ?? .null]) }
  }

  package let types: [JobType]

  package init(types: [JobType]) { self.types = types }

  package var json: JSONValue { .object(["types": .array(types.map(\.json))]) }
}

extension TypesReply.JobType: PartlyDecoded {
  package static let furtherFields: [String: JSONValue] = ["schema": ["type": ["object", "null"]]]
}

/// The reply of `GET /v1/configuration`: what is in force on the asked host, in the order of the file.
package struct ConfigurationReply: Decodable, Sendable {
  package struct Setting: Decodable, Sendable {
    package let key: String
    /// As a configuration file writes it, without passwords.
    package let value: String
    /// True if it is not the default.
    package let isChanged: Bool
    /// When a new value takes effect: by a `reload`, or by a `restart`.
    package let effect: String

    package init(key: String, value: String, isChanged: Bool, effect: String) {
      (self.key, self.value, self.isChanged, self.effect) = (key, value, isChanged, effect)
    }

    fileprivate var json: JSONValue {
      .object([
        "key": .string(key), "value": .string(value), "isChanged": .bool(isChanged), "effect": .string(effect),
      ])
    }
  }

  package struct Section: Decodable, Sendable {
    package let name: String
    package var settings: [Setting]

    package init(name: String, settings: [Setting]) { (self.name, self.settings) = (name, settings) }

    fileprivate var json: JSONValue {
      .object(["name": .string(name), "settings": .array(settings.map(\.json))])
    }
  }

  package let sections: [Section]

  package init(sections: [Section]) { self.sections = sections }

  package var json: JSONValue { .object(["sections": .array(sections.map(\.json))]) }
}
