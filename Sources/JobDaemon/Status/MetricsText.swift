import Foundation

/// Metrics as text, in the form that a scraper asks for: OpenMetrics 1.0, or the older text format 0.0.4 of Prometheus.
struct MetricsText {
  /// A form of the text.
  enum Format {
    case openMetrics
    case prometheus

    /// The form that a scraper's `Accept` header asks for.
    init(accept: String?) {
      let wanted = (accept ?? "").lowercased().split(separator: ",").filter {
        $0.contains("application/openmetrics-text")
      }
      let isKnown = wanted.contains { !$0.contains("version=") || $0.contains("version=1.") }
      self = isKnown ? .openMetrics : .prometheus
    }

    var contentType: String {
      switch self {
      case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
      case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
      }
    }
  }

  /// The labels of a sample, in their order.
  typealias Labels = [(name: String, value: String)]

  private let format: Format
  private var text = ""

  init(_ format: Format) { self.format = format }

  /// The whole text, to be asked for once all metrics are in it.
  var data: Data { Data((text + (format == .openMetrics ? "# EOF\n" : "")).utf8) }

  /// Adds a value that rises and falls; none, if it is not known.
  mutating func gauge(_ name: String, _ help: String, value: Double?) {
    gauge(name, help, samples: value.map { [([], $0)] } ?? [])
  }

  mutating func gauge(_ name: String, _ help: String, samples: [(Labels, Double)]) {
    add(name, help, kind: "gauge", samples: samples)
  }

  /// Adds a value that only rises; its name ends in `_total`.
  mutating func counter(_ name: String, _ help: String, value: Double) { counter(name, help, samples: [([], value)]) }

  mutating func counter(_ name: String, _ help: String, samples: [(Labels, Double)]) {
    add(name, help, kind: "counter", samples: samples)
  }

  mutating func histogram(_ name: String, _ help: String, samples: [(Labels, Histogram)]) {
    head(name, help, kind: "histogram")
    for (labels, histogram) in samples {
      var count = 0
      for (index, part) in histogram.counts.enumerated() {
        count += part
        let bound = index < histogram.bounds.count ? bound(histogram.bounds[index]) : "+Inf"
        line(name + "_bucket", labels + [("le", bound)], value: Double(count))
      }
      line(name + "_sum", labels, value: histogram.sum)
      line(name + "_count", labels, value: Double(count))
    }
  }

  /// Adds quantiles since the start, with the sum and the number of the values.
  mutating func summary(
    _ name: String, _ help: String, quantiles: [(share: Double, value: Double)], sum: Double, count: Double
  ) {
    head(name, help, kind: "summary")
    for (share, value) in quantiles { line(name, [("quantile", bound(share))], value: value) }
    line(name + "_sum", [], value: sum)
    line(name + "_count", [], value: count)
  }

  private mutating func add(_ name: String, _ help: String, kind: String, samples: [(Labels, Double)]) {
    if samples.isEmpty { return }
    head(name, help, kind: kind)
    for (labels, value) in samples { line(name, labels, value: value) }
  }

  private mutating func head(_ name: String, _ help: String, kind: String) {
    let suffix = "_total"
    let isShort = format == .openMetrics && kind == "counter" && name.hasSuffix(suffix)
    let family = isShort ? String(name.dropLast(suffix.count)) : name
    text += "# HELP \(family) \(help)\n# TYPE \(family) \(kind)\n"
  }

  private mutating func line(_ name: String, _ labels: Labels, value: Double) {
    text += name
    if !labels.isEmpty {
      text += "{" + labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",") + "}"
    }
    text += " \(Self.number(value))\n"
  }

  private static func escaped(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  /// A number as a label: in OpenMetrics always with a fraction, so that all write the same (section "Considerations:
  /// Canonical Numbers").
  private func bound(_ value: Double) -> String { format == .openMetrics ? "\(value)" : Self.number(value) }

  private static func number(_ value: Double) -> String {
    if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
    return value == .infinity ? "+Inf" : "\(value)"
  }
}
