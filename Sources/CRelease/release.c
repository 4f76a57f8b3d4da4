#include "CRelease.h"

// Package.swift defines these from the environment of the build, in which the Makefile sets them.
#ifndef BOBBIN_COMMIT
#define BOBBIN_COMMIT ""
#endif
#ifndef BOBBIN_BUILD
#ifdef DEBUG
#define BOBBIN_BUILD "debug"
#else
#define BOBBIN_BUILD "release"
#endif
#endif

// Clang has had #embed in C of all years since version 19, and compiles this again when the file changes.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char version[] = {
#embed "../../VERSION"
    , 0};

const char *release_version(void) { return version; }
const char *release_commit(void) { return BOBBIN_COMMIT; }
const char *release_build(void) { return BOBBIN_BUILD; }
