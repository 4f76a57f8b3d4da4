import JSONText
import Jobs
import ObjectModel
import RecordInput

extension ImportArguments {
  /// The schema of the arguments of an import into one of the model's entities.
  static func schema(_ model: ManagedObjectModel) -> JSONValue {
    let limit: JSONValue = ["description": "A number, or a share such as \"5%\""]
    return ArgumentSchema.object(
      [
        "input": ArgumentSchema.path,
        "entity": ArgumentSchema.word(BuiltInModel.importable(of: model).map(\.name).sorted()),
        "columns": ["description": "Which column goes into which property: an object of both, or a list by position"],
        "mode": ArgumentSchema.word(ImportMode.allCases.map(\.rawValue)),
        "key": ["description": "The property, or a list of them, by which a record is the same as an object"],
        "values": ArgumentSchema.described(["type": "object"], "Values that every object gets"),
        "rules": ArgumentSchema.described(["type": "object"], "Rules for all columns"),
        "atomic": ArgumentSchema.described(ArgumentSchema.flag, "Everything in one transaction"),
        "maxRejects": limit,
        "onTooManyRejects": ArgumentSchema.word(RejectPolicy.allCases.map(\.rawValue)),
        "maxDeletes": limit,
        "dryRun": ArgumentSchema.described(ArgumentSchema.flag, "Nothing is written"),
        "format": ArgumentSchema.word(InputFormat.allCases.map(\.rawValue)),
        "compression": ArgumentSchema.word(Compression.allCases.map(\.rawValue)),
        "encoding": ArgumentSchema.text,
        "separator": ArgumentSchema.text,
        "quote": ArgumentSchema.text,
        "comment": ArgumentSchema.text,
        "skipLines": ArgumentSchema.whole(in: 0...1_000_000),
        "header": ArgumentSchema.flag,
        "strayQuotes": ArgumentSchema.text,
        "raggedRows": ArgumentSchema.text,
        "records": ArgumentSchema.text,
      ], required: ["input", "entity"])
  }
}
