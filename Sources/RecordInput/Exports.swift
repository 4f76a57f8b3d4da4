package import DelimitedText

/// What sources hand out.
package typealias RecordPosition = DelimitedText.RecordPosition
package typealias PresentRecord = DelimitedText.PresentRecord
package typealias RecordFields = DelimitedText.RecordFields
package typealias FieldKind = DelimitedText.FieldKind
package typealias StrayQuotes = DelimitedDialect.StrayQuotes
