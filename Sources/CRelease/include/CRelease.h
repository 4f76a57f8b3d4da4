// Names of this build. They are in C so that a new commit compiles one small file again, and no Swift module.

/// The content of the file VERSION, with its newline.
const char *release_version(void);

/// The commit, with "+changes" if the tree had any; empty if the build was not told.
const char *release_commit(void);

/// The kind of the build: "debug", "release", or what a packager called it.
const char *release_build(void);
