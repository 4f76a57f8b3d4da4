import Glibc
import SystemSupport
import TestSupport
import Testing

/// What the kernel has listed for real services of systemd 252, in part.
private enum Captured {
  /// `ProtectSystem=strict`, `ProtectHome=yes`, `PrivateTmp=yes`, `ReadWritePaths=/var/spool/bobbin`.
  static let shipped = """
    298 259 0:40 / / ro,relatime shared:58 master:1 - overlay overlay rw,lowerdir=/
    299 298 0:43 / /tmp rw shared:74 master:2 - tmpfs tmpfs rw
    318 298 0:46 / /run rw shared:92 master:6 - tmpfs tmpfs rw,mode=755
    313 298 0:46 /host/inaccessible/dir /home ro,nosuid,nodev,noexec shared:107 master:6 - tmpfs tmpfs rw,mode=755
    314 298 0:59 / /proc rw,nosuid,nodev,noexec,relatime shared:108 - proc proc rw,hidepid=invisible,subset=pid
    325 318 0:46 /host/inaccessible/dir /run/user ro,nosuid,nodev,noexec shared:101 master:6 - tmpfs tmpfs rw,mode=755
    329 299 0:43 /systemd-private-2e17afcc-plain.service-qT59VP/tmp /tmp rw shared:75 master:2 - tmpfs tmpfs rw
    330 298 0:40 /var/spool/bobbin /var/spool/bobbin rw shared:110 master:1 - overlay overlay rw,lowerdir=/
    331 298 0:40 /var/tmp/systemd-private-2e17afcc-plain.service-GRT5E9/tmp /var/tmp rw shared:111 master:1 - overlay overlay rw,lowerdir=/
    """

  /// As before, with `ProtectHome=tmpfs`, `BindReadOnlyPaths=/home/anna/pictures` and `ReadWritePaths=/srv/www/out`.
  static let opened = """
    298 259 0:40 / / ro,relatime shared:58 master:1 - overlay overlay rw,lowerdir=/
    299 298 0:43 / /tmp rw shared:74 master:2 - tmpfs tmpfs rw
    318 298 0:46 / /run rw shared:92 master:6 - tmpfs tmpfs rw,mode=755
    313 298 0:59 / /home rw shared:107 - tmpfs tmpfs rw
    314 313 0:40 /home/anna/pictures /home/anna/pictures ro,relatime shared:108 master:1 - overlay overlay rw,lowerdir=/
    327 298 0:40 /srv/www/out /srv/www/out rw shared:111 master:1 - overlay overlay rw,lowerdir=/
    331 299 0:43 /systemd-private-2e17afcc-tmpfsbind.service-0AcCZS/tmp /tmp rw shared:75 master:2 - tmpfs tmpfs rw
    """

  /// `ProtectSystem=strict`, `InaccessiblePaths=/srv/www`, `TemporaryFileSystem=/opt:ro`.
  static let masked = """
    298 259 0:40 / / ro,relatime shared:58 master:1 - overlay overlay rw,lowerdir=/
    318 298 0:46 / /run rw shared:92 master:6 - tmpfs tmpfs rw,mode=755
    313 298 0:59 / /opt ro,nodev shared:107 - tmpfs tmpfs rw,mode=755
    325 298 0:46 /host/inaccessible/dir /srv/www ro,nosuid,nodev,noexec shared:109 master:6 - tmpfs tmpfs rw,mode=755
    """
}

@Suite("Mounts that a process sees")
struct MountTableTests {
  @Test(
    "A path lies in the mount that is met last on the way to it",
    arguments: [
      ("/", "/", "/"), ("/srv/www/x", "/", "/"), ("/home", "/home", "/host/inaccessible/dir"),
      ("/home/anna/a.png", "/home", "/host/inaccessible/dir"), ("/homes", "/", "/"),
      ("/tmp/a", "/tmp", "/systemd-private-2e17afcc-plain.service-qT59VP/tmp"),
      ("/run/user/1000/x", "/run/user", "/host/inaccessible/dir"), ("/run/x", "/run", "/"),
      ("/var/spool/bobbin/new", "/var/spool/bobbin", "/var/spool/bobbin"),
    ])
  func longestPrefix(path: String, point: String, root: String) throws {
    let mount = try #require(MountTable(parsing: Captured.shipped).mount(of: path))
    #expect((mount.point, mount.root) == (point, root))
  }

  @Test("What is mounted below a folder is not seen once another mount lies upon the folder")
  func covered() throws {
    let table = MountTable(
      parsing: """
        1 0 8:1 / / rw - ext4 /dev/sda1 rw
        2 1 8:2 / /data rw - ext4 /dev/sda2 rw
        3 2 8:3 / /data/deep rw - ext4 /dev/sda3 rw
        4 2 0:9 / /data ro - tmpfs tmpfs rw
        """)
    #expect(table.mount(of: "/data/deep/x")?.fileSystem == "tmpfs")
    // The other way round, the deeper one is on top.
    let other = MountTable(
      parsing: """
        1 0 8:1 / / rw - ext4 /dev/sda1 rw
        2 1 0:9 / /data ro - tmpfs tmpfs rw
        3 2 8:3 / /data/deep rw - ext4 /dev/sda3 rw
        """)
    #expect(other.mount(of: "/data/deep/x")?.fileSystem == "ext4")
  }

  @Test("Blanks in names are read, a mount is told from its file system, and odd lines are passed over")
  func fields() throws {
    let table = MountTable(
      parsing: """
        nonsense
        1 0 8:1 / / rw shared:1 master:2 - ext4 /dev/sda1 rw
        2 1 8:2 /a\\040b /my\\040disk ro,relatime - xfs /dev/sdb1 rw
        3 1 8:3 / /broken rw - ext4 /dev/sdc1 ro,errors=remount-ro
        4 1 8:3
        """)
    let disk = try #require(table.mount(of: "/my disk/x"))
    #expect((disk.point, disk.root, disk.fileSystem) == ("/my disk", "/a b", "xfs"))
    #expect(disk.isReadOnly && !disk.isFileSystemReadOnly)
    let broken = try #require(table.mount(of: "/broken"))
    #expect(!broken.isReadOnly && broken.isFileSystemReadOnly)
    #expect(MountTable(parsing: "").mount(of: "/") == nil)
  }

  @Test("This process has a root")
  func own() throws { #expect(try MountTable.ofThisProcess().mount(of: "/") != nil) }
}

@Suite("What the settings of a service keep it from")
struct SandboxTests {
  private static func sandbox(_ text: String, unit: String? = "bobbind.service") -> Sandbox {
    Sandbox(mounts: MountTable(parsing: text), unit: unit)
  }

  private static let see = "then \"systemctl restart bobbind.service\"; see SANDBOX in bobbind(8)"
  private static let edit = "or open it: \"systemctl edit bobbind.service\" with the lines [Service], "

  @Test("An input below /home, which a user may not search it seems, is explained by ProtectHome=")
  func hiddenInput() {
    #expect(
      Self.sandbox(Captured.shipped).explanation(
        at: "/home", of: "/home/anna/my pictures/50%.png", for: .reading, after: nil)
        == "ProtectHome= of bobbind.service hides /home from the daemon; use a file in the spool's payload/, "
        + Self.edit + "ProtectHome=tmpfs, BindReadOnlyPaths=\"/home/anna/my pictures\", " + Self.see)
  }

  @Test("An output below /home is let in for writing, and a name with signs of its own is escaped")
  func hiddenOutput() {
    let home = Self.sandbox(Captured.shipped).explanation(
      at: "/home/x", of: "/home/x/50%:1/a.png", for: .writing, after: .accessDenied)
    #expect(home?.contains("ProtectHome=tmpfs, BindPaths=/home/x/50%%\\:1, then") == true)
  }

  @Test("A file of /tmp that is not there is explained by PrivateTmp=, and one that may not be read is not")
  func privateFolder() {
    let sandbox = Self.sandbox(Captured.shipped)
    let expected =
      "PrivateTmp= of bobbind.service gives the daemon a folder /tmp of its own, which nobody else sees; "
      + "use a file in the spool's payload/, " + Self.edit + "PrivateTmp=no, " + Self.see
    #expect(sandbox.explanation(at: "/tmp/a", of: "/tmp/a", for: .reading, after: .noEntry) == expected)
    #expect(sandbox.explanation(at: "/tmp/a", of: "/tmp/a", for: .reading, after: nil) == nil)
    #expect(sandbox.explanation(ofUnseen: "/tmp/a") == expected)
    #expect(sandbox.explanation(ofUnseen: "/srv/a") == nil)
    #expect(Sandbox.mayBeOwnFolder("/var/tmp/x") && !Sandbox.mayBeOwnFolder("/tmpx"))
  }

  @Test("An output in /srv, which is read-only, is explained by ProtectSystem=, unless it is the file system itself")
  func lockedOutput() {
    let sandbox = Self.sandbox(Captured.shipped)
    #expect(
      sandbox.explanation(at: "/srv/www", of: "/srv/www/a.webp", for: .writing, after: .readOnlyFileSystem)
        == "ProtectSystem= of bobbind.service makes all but a few folders read-only for the daemon; "
        + "write to the spool's payload/, " + Self.edit + "ReadWritePaths=/srv/www, " + Self.see)
    // The daemon's own files have no other place.
    #expect(
      sandbox.explanation(at: "/srv/store", of: "/srv/store/a", for: .keeping, after: .readOnlyFileSystem)
        == "ProtectSystem= of bobbind.service makes all but a few folders read-only for the daemon; "
        + Self.edit.dropFirst("or ".count) + "ReadWritePaths=/srv/store, " + Self.see)
    #expect(sandbox.explanation(at: "/srv/www", of: "/srv/www/a", for: .writing, after: .accessDenied) == nil)
    #expect(sandbox.explanation(at: "/srv/www", of: "/srv/www/a", for: .reading, after: .noEntry) == nil)
    let broken = Self.sandbox("1 0 8:1 / / ro - ext4 /dev/sda1 ro")
    #expect(broken.explanation(at: "/srv", of: "/srv/a", for: .writing, after: .readOnlyFileSystem) == nil)
    let part = Self.sandbox("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:1 /srv /srv ro - ext4 /dev/sda1 rw")
    #expect(
      part.explanation(at: "/srv", of: "/srv/a", for: .writing, after: .readOnlyFileSystem)?
        .hasPrefix("ReadOnlyPaths= of bobbind.service makes /srv read-only") == true)
  }

  @Test("What a drop-in has opened is open, beside it nothing is, and what it lets in for reading is not written to")
  func opened() {
    let sandbox = Self.sandbox(Captured.opened)
    let pictures = "/home/anna/pictures"
    #expect(sandbox.explanation(at: pictures + "/x", of: pictures + "/x", for: .reading, after: .noEntry) == nil)
    #expect(
      sandbox.explanation(at: pictures, of: pictures + "/x", for: .writing, after: .readOnlyFileSystem)?
        .contains("BindReadOnlyPaths= of bobbind.service makes /home/anna/pictures read-only") == true)
    #expect(
      sandbox.explanation(at: "/home/bob", of: "/home/bob/x/y", for: .reading, after: .noEntry)?
        .contains("ProtectHome=tmpfs, BindReadOnlyPaths=/home/bob/x,") == true)
    #expect(sandbox.explanation(at: "/srv/www/out", of: "/srv/www/out/x", for: .writing, after: .accessDenied) == nil)
  }

  @Test("Other masks are named by their settings, and without a unit nothing is said of settings")
  func otherMasks() {
    let sandbox = Self.sandbox(Captured.masked)
    let masked = sandbox.explanation(at: "/srv/www", of: "/srv/www/a", for: .reading, after: nil)
    #expect(masked?.hasPrefix("InaccessiblePaths= of bobbind.service hides /srv/www from the daemon;") == true)
    let emptied = sandbox.explanation(at: "/opt/a", of: "/opt/a", for: .reading, after: .noEntry)
    #expect(emptied?.hasPrefix("TemporaryFileSystem= of bobbind.service hides /opt from the daemon;") == true)
    let plain = Self.sandbox(Captured.masked, unit: nil)
    #expect(
      plain.explanation(at: "/srv/www", of: "/srv/www/a", for: .reading, after: nil)
        == "a mount at /srv/www hides it from the daemon; use a file in the spool's payload/")
  }
}
