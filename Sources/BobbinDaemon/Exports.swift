// A handler needs these four too: arguments and results are JSON, rows are objects of a model.
@_exported public import JSONText
@_exported public import Jobs
@_exported public import ObjectGraph
@_exported public import ObjectModel
