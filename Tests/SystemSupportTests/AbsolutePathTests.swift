import SystemSupport
import Testing

@Suite("Absolute paths")
struct AbsolutePathTests {
  @Test(
    "A relative path starts at the folder, dots in front of it are resolved, and those behind a name stay",
    arguments: [
      ("a.jpg", "/home/anna/a.jpg"), ("./a.jpg", "/home/anna/a.jpg"), (".//./a/b", "/home/anna/a/b"),
      ("../a", "/home/a"), ("../../../a", "/a"), ("..", "/home"), (".", "/home/anna"), ("a/../b", "/home/anna/a/../b"),
      ("...", "/home/anna/..."), ("..a", "/home/anna/..a"), ("out/", "/home/anna/out/"), ("/b/./c", "/b/./c"),
    ])
  func absolute(path: String, result: String) {
    #expect(path.absolutePath(from: "/home/anna") == result)
    #expect(path.absolutePath(from: "/home/anna/") == result)
  }

  @Test("The root is a folder as well")
  func root() {
    #expect("a".absolutePath(from: "/") == "/a")
    #expect("..".absolutePath(from: "/") == "/")
  }
}
