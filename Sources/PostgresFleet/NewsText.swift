import Fleet
import JSONText
import JobSchedule
import Jobs
import StoreInterface

/// The bodies of news in the inbox, in JSON; each tells its version.
///
/// Hosts that joined and jobs that were admitted have none: the row of the inbox has their numbers, and their own rows
/// tell the rest. After a change of everything the lead reads all of it.
enum NewsText {
  /// The kinds of news, by their names in the inbox.
  enum Kind: String {
    case joined, buried, admitted, ended, ordered, changed
  }

  private static let version: Int64 = 1

  // MARK: Ends

  static func text(of ended: [EndedRun]) -> String {
    let runs = ended.map { one in
      JSONValue.array([
        .integer(one.run.job.key), .integer(Int64(one.run.host)), .integer(Int64(one.run.attempt)),
        .string(one.event.rawValue), one.retryTime.map(JSONValue.integer) ?? .null, .bool(one.isReverted),
      ])
    }
    return JSONValue.object(["version": .integer(version), "runs": .array(runs)]).serialized()
  }

  /// - Parameter id: makes the ID of a job of its key.
  /// - Returns: nil if the text is of a newer release, or damaged.
  static func ended(_ text: String, id: (Int64) -> ManagedObjectID) -> [EndedRun]? {
    guard let runs = JSONObject(text, version: version)?["runs"]?.array else { return nil }
    var ended: [EndedRun] = []
    for run in runs {
      guard let run = run.array, run.count == 6, let job = run[0].integer, let host = run[1].integer,
        let attempt = run[2].integer, let event = run[3].string.flatMap(JobEvent.init), let isReverted = run[5].bool
      else { return nil }
      ended.append(
        EndedRun(
          run: Run(job: id(job), host: Int(host), attempt: Int(attempt)), event: event, retryTime: run[4].integer,
          isReverted: isReverted))
    }
    return ended
  }
}

extension JSONObject {
  /// An object that tells its version; nil if that is another one, as of a newer release, or the text is damaged.
  init?(_ text: String, version: Int64) {
    guard let object = (try? JSONValue(parsing: text.utf8))?.object, object["version"] == .integer(version) else {
      return nil
    }
    self = object
  }
}

extension FleetHost {
  /// A host as its row has it, with its types and places as arrays in JSON.
  init(root: String, slots: Int64, types: String, places: String) {
    func set(_ text: String) -> Set<String> {
      Set(((try? JSONValue(parsing: text.utf8))?.array ?? []).compactMap(\.string))
    }
    self.init(root: root, slots: Int(slots), types: set(types), places: set(places))
  }
}
