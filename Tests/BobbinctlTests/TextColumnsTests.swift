import Testing

@testable import bobbinctl

@Suite("The columns of a terminal")
struct TextColumnsTests {
  @Test(
    "are two for an ideograph, none for an accent, and those of the widest part for a cluster",
    arguments: [
      ("", 0), ("plain", 5), ("Käse", 4), ("Ka\u{308}se", 4), ("日本語", 6), ("ｗｉｄｅ", 8), ("👩‍🚀!", 3), ("█░…", 3),
    ])
  func columns(text: String, columns: Int) { #expect(text.columns == columns) }

  @Test("bound what is cut, at its end or in its middle, and what is filled up")
  func cut() {
    #expect("日本語.jpg".cut(to: 7) == "日本語…" && "日本語.jpg".cut(to: 6) == "日本…")
    #expect("日本語-日本語".cutInMiddle(to: 8) == "日本…語")
    #expect("日本".padded(to: 6) == "日本  " && "日本語".cut(to: 6) == "日本語")
  }

  @Test("bound a line with colours, which keeps its last sequence")
  func clipped() {
    #expect("\u{1b}[1mabcdef\u{1b}[0m".clipped(to: 3) == "\u{1b}[1mabc\u{1b}[0m")
    #expect("ab日本".clipped(to: 5) == "ab日" && "ab".clipped(to: 5) == "ab")
  }

  @Test("align the cells of a table")
  func table() {
    var table = Table(columns: [.init(title: "ID"), .init(title: "STATE")])
    table.rows = [[.init("日本"), .init("held")], [.init("abcd"), .init("held")]]
    #expect(table.lines(width: nil, usesColor: false) == ["ID    STATE", "日本  held", "abcd  held"])
  }
}
