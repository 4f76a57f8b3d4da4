package import JSONText

/// The reply of `GET /v1/samples`: a list of figures for each column, one figure for each span of time.
package struct SamplesReply: Decodable, Sendable {
  package let stepSeconds: Int
  /// The beginning of the first span.
  package let start: Timestamp
  /// The figures by column; nil where no daemon ran, or where there was nothing to tell.
  package let samples: [String: [Int?]]

  package init(stepSeconds: Int, start: Timestamp, samples: [String: [Int?]]) {
    (self.stepSeconds, self.start, self.samples) = (stepSeconds, start, samples)
  }

  package var json: JSONValue {
    let columns = samples.sorted { $0.key < $1.key }.reduce(into: JSONObject()) { object, column in
      object[column.key] = .array(column.value.map { .whole($0) })
    }
    return .object(["stepSeconds": .whole(stepSeconds), "start": .time(start), "samples": .object(columns)])
  }
}
