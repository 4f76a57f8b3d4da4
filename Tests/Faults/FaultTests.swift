import Testing

/// Faults done to a real daemon, and what is left of its jobs after the next start: nothing is lost, nothing done twice.
///
/// How many of each is asked for by the environment, see ``FaultPlan``: `make test-faults` asks for all of them.
@Suite("Faults", .serialized)
enum FaultTests {}
