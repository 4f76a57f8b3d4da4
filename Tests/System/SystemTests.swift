import Testing

/// Tests of the built programs; one after the other, so that their figures and times mean something.
@Suite("The daemon", .serialized)
enum SystemTests {}
