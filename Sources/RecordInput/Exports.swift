package import DelimitedText

/// Types of DelimitedText that are part of this module's interface.
package typealias RecordPosition = DelimitedText.RecordPosition
package typealias PresentRecord = DelimitedText.PresentRecord
package typealias RecordFields = DelimitedText.RecordFields
package typealias FieldKind = DelimitedText.FieldKind
package typealias StrayQuotes = DelimitedDialect.StrayQuotes
