import ObjectGraph

/// Three keepers to ask for.
enum Keepers {
  /// Anna feeds and dives and has shifts of 8 and 4 hours, Bert feeds and has one of 2, Cleo has nothing.
  ///
  /// - Returns: the ID of the skill "diving".
  static func fill(_ context: isolated ManagedObjectContext) -> ManagedObjectID {
    let keepers = ["Anna", "Bert", "Cleo"].map { name in
      let keeper = Keeper(context: context)
      keeper.name = name
      return keeper
    }
    let (feeding, diving) = (Skill(context: context), Skill(context: context))
    (feeding.title, feeding.level) = ("feeding", 1)
    (diving.title, diving.level) = ("diving", 7)
    let third = Skill(context: context)
    third.title = "third"
    keepers[0].skills = [feeding, diving]
    keepers[1].skills = [feeding, third]
    for (keeper, hours) in [(0, 8), (0, 4), (1, 2)] {
      let shift = Shift(context: context)
      shift.hours = Int32(hours)
      shift.keeper = keepers[keeper]
    }
    keepers[1].friends = [keepers[0], keepers[2]]
    return diving.objectID
  }
}
