import Foundation
import ObjectGraph
import Testing

@Suite("#Predicate")
struct FoundationPredicateTests {
  @Test("is read as the condition that the same format string is")
  func reading() throws {
    let limit: Int64 = 100
    let names: [String?] = ["x", "y"]
    let pairs: [(Predicate<Person>, String)] = [
      (#Predicate { $0.age >= limit && $0.lastName == "x" }, "age >= 100 AND lastName == 'x'"),
      (#Predicate { !($0.age == 1) || $0.firstName != nil }, "NOT (age == 1) OR firstName != nil"),
      (#Predicate { $0.department?.name == "x" }, "department.name == 'x'"),
      (#Predicate { $0.department == nil }, "department == nil"),
      (#Predicate { (1...5).contains($0.age) }, "age >= 1 AND age <= 5"),
      (#Predicate { names.contains($0.lastName) }, "lastName IN {'x', 'y'}"),
      (#Predicate { $0.lastName?.contains("a") == true }, "lastName CONTAINS 'a'"),
      (#Predicate { $0.lastName!.starts(with: "a") }, "lastName BEGINSWITH 'a'"),
      (#Predicate { $0.age > -3 }, "age > -3"),
      (#Predicate { $0.age % 2 == 1 && -$0.age < 0 }, "modulus:by:(age, 2) == 1 AND 0 - age < 0"),
    ]
    for (predicate, format) in pairs {
      #expect(try Condition(predicate).description == Condition(format: format).description)
    }
  }

  @Test("with an expression that a store can't answer names its kind")
  func refusing() throws {
    let ages: [String: Int64] = ["Ada": 1]
    let predicate = #Predicate<Person> { ages[$0.firstName!] == 1 }
    let error = #expect(throws: ConditionError.self) { try Condition(predicate) }
    #expect(error?.code == .unsupported)
    #expect(error?.fragment == "DictionaryKeySubscript")
  }
}
