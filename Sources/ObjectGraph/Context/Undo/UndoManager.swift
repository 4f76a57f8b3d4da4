/// A stack of recorded actions that can be undone and redone; a context records its changes with one.
///
/// Set it as the context's ``ManagedObjectContext/undoManager`` and use it on that context's executor only. Actions
/// recorded during one event form a group, and ``undo()`` undoes one group. An event ends with each outermost
/// `perform`, with `processPendingChanges()` and with a save.
public final class UndoManager {
  private struct Action {
    let target: ObjectIdentifier
    let run: () -> Void
  }

  private struct Group {
    var name = ""
    var actions: [Action] = []
  }

  private enum Work {
    case none
    case undoing
    case redoing
  }

  private var undoGroups: [Group] = []
  private var redoGroups: [Group] = []
  /// The groups that are being recorded, outermost first.
  private var openGroups: [Group] = []
  /// True if the outermost open group is that of an event, which ends by itself.
  private var isInEventGroup = false
  private var disableCount = 0
  private var work = Work.none
  /// Closures that run before groups begin and end, so that changes are recorded in the right one.
  private var checkpoints: [ObjectIdentifier: () -> Void] = [:]

  /// True if actions outside of explicit groups are grouped by event; the default.
  ///
  /// If false, recording without a group is a programmer's error and traps.
  public var groupsByEvent = true

  /// The number of groups to keep, the oldest being dropped first; 0 for no limit, which is the default.
  public var levelsOfUndo = 0 {
    didSet { forgetOldest() }
  }

  /// A manager that has recorded nothing.
  public init() {}

  // MARK: Undoing

  /// Undoes the last group; does nothing if there is none.
  ///
  /// An open group is ended first; more than one is a programmer's error and traps.
  public func undo() {
    finishOpenGroup()
    guard let group = undoGroups.popLast() else { return }
    run(group, as: .undoing)
  }

  /// Redoes what the last ``undo()`` undid; does nothing if something else was recorded since.
  public func redo() {
    finishOpenGroup()
    guard let group = redoGroups.popLast() else { return }
    run(group, as: .redoing)
  }

  /// True if there is something to undo.
  public var canUndo: Bool {
    checkpoint()
    return !undoGroups.isEmpty || openGroups.contains { !$0.actions.isEmpty }
  }

  /// True if there is something to redo.
  public var canRedo: Bool {
    checkpoint()
    return !redoGroups.isEmpty
  }

  /// True during ``undo()``.
  public var isUndoing: Bool { work == .undoing }
  /// True during ``redo()``.
  public var isRedoing: Bool { work == .redoing }

  private func finishOpenGroup() {
    precondition(work == .none, "undo and redo can't be called while one of them is under way")
    checkpoint()
    precondition(openGroups.count <= 1, "\(openGroups.count) undo groups are open; end them before undo or redo")
    if !openGroups.isEmpty { close() }
  }

  private func run(_ group: Group, as work: Work) {
    self.work = work
    openGroups = [Group(name: group.name)]
    for action in group.actions.reversed() { action.run() }
    close()
    self.work = .none
  }

  // MARK: Recording

  /// Records the undoing of something outside of the contexts.
  ///
  /// The handler runs at the undo; what it registers is the redo. The target is retained until the action is discarded.
  public func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping (Target) -> Void) {
    checkpoint()
    register(for: target) { handler(target) }
  }

  /// Records an action for a target without retaining it.
  func register(for target: AnyObject, _ run: @escaping () -> Void) {
    guard isUndoRegistrationEnabled else { return }
    if openGroups.isEmpty {
      precondition(groupsByEvent, "something is to be undone, and no undo group has begun")
      openGroups.append(Group())
      isInEventGroup = true
    }
    openGroups[openGroups.count - 1].actions.append(Action(target: ObjectIdentifier(target), run: run))
    if work == .none { redoGroups = [] }
  }

  /// True if changes are recorded.
  public var isUndoRegistrationEnabled: Bool { disableCount == 0 }

  /// Stops recording until ``enableUndoRegistration()`` was called as often.
  public func disableUndoRegistration() {
    checkpoint()
    disableCount += 1
  }

  /// Ends a ``disableUndoRegistration()``.
  public func enableUndoRegistration() {
    precondition(disableCount > 0, "recording was enabled more often than it was disabled")
    checkpoint()
    disableCount -= 1
  }

  /// Discards all actions; open groups stay open.
  public func removeAllActions() {
    undoGroups = []
    redoGroups = []
    for index in openGroups.indices { openGroups[index].actions = [] }
  }

  /// Discards the actions of a target.
  public func removeAllActions(withTarget target: AnyObject) {
    let isOther: (Action) -> Bool = { $0.target != ObjectIdentifier(target) }
    func rest(_ groups: [Group]) -> [Group] {
      groups.map { Group(name: $0.name, actions: $0.actions.filter(isOther)) }
    }
    undoGroups = rest(undoGroups).filter { !$0.actions.isEmpty }
    redoGroups = rest(redoGroups).filter { !$0.actions.isEmpty }
    openGroups = rest(openGroups)
  }

  // MARK: Groups

  /// The number of open groups, that of the event included.
  public var groupingLevel: Int { openGroups.count }

  /// Begins a group, which is undone as a whole; nested groups become part of the outer one.
  public func beginUndoGrouping() {
    checkpoint()
    endEvent()
    openGroups.append(Group())
  }

  /// Ends the innermost group.
  public func endUndoGrouping() {
    precondition(openGroups.count > (isInEventGroup ? 1 : 0), "no undo group has begun")
    checkpoint()
    close()
  }

  /// Ends the group of an event, if there is one.
  func endEvent() {
    if isInEventGroup && openGroups.count == 1 && work == .none { close() }
  }

  private func close() {
    let group = openGroups.removeLast()
    if !openGroups.isEmpty {
      openGroups[openGroups.count - 1].actions += group.actions
      if !group.name.isEmpty { openGroups[openGroups.count - 1].name = group.name }
      return
    }
    isInEventGroup = false
    if group.actions.isEmpty { return }
    if work == .undoing { redoGroups.append(group) } else { undoGroups.append(group) }
    forgetOldest()
  }

  private func forgetOldest() {
    guard levelsOfUndo > 0 else { return }
    undoGroups.removeFirst(max(0, undoGroups.count - levelsOfUndo))
    redoGroups.removeFirst(max(0, redoGroups.count - levelsOfUndo))
  }

  // MARK: Names

  /// Names the open group, or else the last one, for a menu.
  public func setActionName(_ name: String) {
    checkpoint()
    if !openGroups.isEmpty {
      openGroups[openGroups.count - 1].name = name
    } else if !undoGroups.isEmpty {
      undoGroups[undoGroups.count - 1].name = name
    }
  }

  /// The name of the group that ``undo()`` would undo, or an empty text.
  public var undoActionName: String { openGroups.first?.name ?? undoGroups.last?.name ?? "" }

  /// The name of the group that ``redo()`` would redo, or an empty text.
  public var redoActionName: String { redoGroups.last?.name ?? "" }

  // MARK: Checkpoints

  /// Runs a closure before groups begin and end, until the owner sets nil.
  func setCheckpoint(of owner: AnyObject, _ body: (() -> Void)?) { checkpoints[ObjectIdentifier(owner)] = body }

  private func checkpoint() {
    if work == .none { checkpoints.values.forEach { $0() } }
  }
}
