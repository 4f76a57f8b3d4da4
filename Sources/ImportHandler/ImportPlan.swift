import JSONText
import Jobs
import ObjectGraph
import ObjectModel
import RecordInput

/// The plan for each record: the arguments, completed by the input's header.
struct ImportPlan: Sendable {
  let entity: Entity
  let columns: [ImportColumn]
  let constants: [ImportColumn]
  /// The defaults of attributes that neither the input nor a constant gives.
  let defaults: [(Property, AttributeDescription)]
  let key: [Property]
  let mode: ImportMode
  /// True if the store may reject a record that is good in itself.
  let mayReject: Bool
  /// The first record as it came, if it names the columns.
  let header: String?
  /// The notation of the input.
  let form: JSONValue
  /// True if records are objects, whose keys may be absent.
  let hasKeys: Bool
  /// The most objects that may be deleted; nil if not stated.
  let deleteLimit: RejectLimit?

  init(
    _ arguments: ImportArguments, names: [String], header: String?, form: InputForm, input: String
  ) throws {
    entity = arguments.entity
    mode = arguments.mode
    key = arguments.key
    self.header = header
    self.form = form.json
    hasKeys = !form.isDelimited && form.hasHeader
    deleteLimit = arguments.deleteLimit
    columns = try arguments.columns.resolved(names, arguments.entity, input: input)
    let constants = arguments.constants
    self.constants = constants
    let own = columns
    if let twice = constants.first(where: { constant in own.contains { $0.property === constant.property } }) {
      throw JobFailure("\(input): both a column and \"values\" give \"\(twice.property.name)\"; leave one of them out")
    }
    let given = Set((columns + constants).map(\.property.slot))
    if let lacking = key.first(where: { !given.contains($0.slot) }) {
      throw JobFailure("\(input): no column gives \"\(lacking.name)\", by which objects are to be found")
    }
    if let missing = entity.missingProperty(given: given) {
      throw JobFailure(
        "the input \(input): no column gives \"\(entity.name).\(missing)\", which must have a value; map a column to "
          + "it, state it in \"values\", or make it optional or give it a default in the model")
    }
    defaults = entity.properties.compactMap { property in
      guard let attribute = property.attribute, !given.contains(property.slot), property.isPersistent,
        !attribute.defaultValue.isNull
      else { return nil }
      return (property, attribute)
    }
    mayReject =
      !key.isEmpty || !ImportKey.constraints(of: entity).isEmpty
      || columns.contains { if case .relationship = $0.target { true } else { false } }
      || entity.root.withDescendants.contains { !$0.entityDescription.uniquenessConstraints.isEmpty }
  }
}

extension ImportPlan {
  /// The part of a failure's message about rows that stay.
  var leftover: String {
    mode.isRevertible || mode.isAtomic
      ? "" : "; what it has inserted and updated stays, since only \"atomic\" imports can be reverted"
  }

  /// Returns why so many objects must not be deleted: the job allows fewer, or the input is empty; nil if they may.
  ///
  /// - Parameters:
  ///   - before: how many there are.
  ///   - records: how many records the input has.
  func problem(deleting deleted: Int64, of before: Int64, records: Int64) -> String? {
    let some = "\(deleted) of \(before) objects of \"\(entity.name)\""
    if let limit = deleteLimit {
      guard limit.isExceeded(by: deleted, of: before) else { return nil }
      return "\(some) would be deleted, more than \"maxDeletes\" allows; nothing was changed"
    }
    guard records == 0, deleted > 0 else { return nil }
    return
      "the input has no records, so that \(some) would be deleted; if that is meant, state \"maxDeletes\": \"100%\""
  }
}
