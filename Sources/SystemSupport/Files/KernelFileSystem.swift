/// File systems whose files the kernel generates while they are read.
///
/// Their content depends on the process that opens them, so their permission bits don't say what somebody else could
/// read: `/proc/self/maps` is readable by all, and shows this process.
enum KernelFileSystem {
  /// From `linux/magic.h`; kept as numbers, as some of the macros carry casts that are not imported.
  static let magicNumbers: Set<Int64> = [
    0x0000_9fa0,  // proc
    0x6265_6572,  // sysfs
    0x6462_6720,  // debugfs
    0x7472_6163,  // tracefs
    0x7363_6673,  // securityfs
    0xf97c_ff8c,  // selinuxfs
    0x4341_5d53,  // smackfs
    0x0027_e0eb,  // cgroup
    0x6367_7270,  // cgroup2
    0x6165_676c,  // pstore
    0xde5e_81e4,  // efivarfs
    0x4249_4e4d,  // binfmt_misc
    0x6e73_6673,  // nsfs
    0xcafe_4a11,  // bpf
    0x6265_6570,  // configfs
  ]

  static func contains(_ descriptor: borrowing FileDescriptor) throws(SystemError) -> Bool {
    magicNumbers.contains(try descriptor.fileSystemType())
  }
}
