import Fleet
import PostgresStore
import SQLGeneration
import StoreInterface

/// The inbox of the lead.
extension LedgerTransaction {
  /// Deletes news, and reads those of them that are not known, with the rows of the hosts and jobs that they are about.
  static func takeNews(above floor: Int64, besides known: [Int64]) -> Request {
    news(in: "DELETE FROM _inbox WHERE number > $1 RETURNING *", above: floor, besides: known)
  }

  /// Reads the same, and deletes nothing.
  static func readNews(above floor: Int64, besides known: [Int64]) -> Request {
    news(in: "SELECT * FROM _inbox WHERE number > $1", above: floor, besides: known)
  }

  /// Bodies come in the first rows.
  private static func news(in inbox: String, above floor: Int64, besides known: [Int64]) -> Request {
    Request(
      """
      WITH news AS (\(inbox)) \
      SELECT n.number, n.kind, n.host, CASE WHEN row_number() OVER jobs = 1 THEN coalesce(n.body, o.body) END, \
      h.root, h.slots, \(LedgerStatements.offeredTypes(of: "h")), to_json(h.places)::text, \(JobRows.columns(of: "j")), \
      \(JobRows.orderedArguments), n.ticket FROM news AS n \
      LEFT JOIN _host AS h ON n.kind = 'joined' AND h.number = n.host \
      LEFT JOIN _order AS o ON o.host = n.host AND o.ticket = n.ticket \
      LEFT JOIN LATERAL unnest(coalesce(n.keys, o.keys)) AS k (key) ON true \
      LEFT JOIN LATERAL (SELECT * FROM "Job" WHERE _key = k.key LIMIT 1) AS j ON true \
      WHERE n.number NOT IN (SELECT unnest($2)) \
      WINDOW jobs AS (PARTITION BY n.number ORDER BY j._key) ORDER BY n.number, row_number() OVER jobs
      """, [.integer(floor), .keys(known)])
  }

  func news(_ taken: QueryResult) throws(StoreError) -> [(number: Int64, news: News)] {
    var news: [(number: Int64, news: News)] = []
    var admitted: [(number: Int64, jobs: [FleetJob])] = []
    var placed: [(number: Int64, order: PlacedOrder)] = []
    for row in 0..<taken.rowCount {
      let number = taken.integer(row, 0)
      switch NewsText.Kind(rawValue: taken.text(row, 1)) {
      case .joined:
        if !taken.isNull(row, 4) {
          news.append((number, .joined(Int(taken.integer(row, 2)), host(taken, row, from: 4))))
        }
      case .buried: news.append((number, .buried(Int(taken.integer(row, 2)))))
      case .changed: news.append((number, .changed))
      case .admitted:
        if admitted.last?.number != number { admitted.append((number, [])) }
        if !taken.isNull(row, 8) { admitted[admitted.count - 1].jobs.append(jobs.job(taken, row, from: 8)) }
      case .ended:
        news.append((number, NewsText.ended(taken.text(row, 3), id: jobs.id).map(News.ended) ?? .changed))
      case .ordered:
        if let body = taken.textIfPresent(row, 3) {
          let ticket = taken.integer(row, 8 + JobRows.columnCount + 1)
          placed.append((number, order(body, ticket: ticket, of: Int(taken.integer(row, 2)))))
        }
        // That of a host which is gone by now is gone with it.
        guard placed.last?.number == number, !taken.isNull(row, 8) else { continue }
        placed[placed.count - 1].order.jobs.append(jobs.orderedJob(taken, row, from: 8))
      // A newer release has written them: what they say is in the tables as well.
      case nil: news.append((number, .changed))
      }
    }
    let names = JobRows.names(in: admitted.lazy.flatMap(\.jobs))
    // What is known may be newer than the news, as it may be newer than the lead anyway.
    let known = names.isEmpty ? [:] : jobs.named(try connection.pipeline([JobRows.named(names)])[0])
    for (number, new) in admitted {
      let own = known.isEmpty ? [:] : known.filter { JobRows.names(in: new).contains($0.key) }
      news.append((number, .admitted(new, known: own)))
    }
    for (number, order) in placed { news.append((number, .ordered(order))) }
    return news.sorted { $0.number < $1.number }
  }
}
