#pragma once
#include <microhttpd.h>
#include <stdbool.h>

// MHD_start_daemon is variadic, which Swift can't import, and MHD_start_daemon_va takes a va_list that Swift can't
// build for pointers to C functions: all options go through the one array that MHD_OPTION_ARRAY accepts.
static inline struct MHD_Daemon *cmhd_start_daemon(
    unsigned int flags, MHD_AccessHandlerCallback handler, void *handler_context, const struct MHD_OptionItem *options) {
  return MHD_start_daemon(
      flags, 0, NULL, NULL, handler, handler_context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

// Options with two arguments take their first one, a function, as an intptr_t: a conversion that only C spells.
static inline struct MHD_OptionItem cmhd_notify_completed(MHD_RequestCompletedCallback function, void *context) {
  return (struct MHD_OptionItem){MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)function, context};
}

static inline struct MHD_OptionItem cmhd_notify_connection(MHD_NotifyConnectionCallback function, void *context) {
  return (struct MHD_OptionItem){MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)function, context};
}

static inline struct MHD_OptionItem cmhd_log_uri(
    void *(*function)(void *context, const char *uri, struct MHD_Connection *connection), void *context) {
  return (struct MHD_OptionItem){MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)function, context};
}

static inline struct MHD_OptionItem cmhd_unescape(
    size_t (*function)(void *context, struct MHD_Connection *connection, char *text), void *context) {
  return (struct MHD_OptionItem){MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)function, context};
}

// MHD_get_connection_info is variadic too. Returns -1 when the library doesn't know the descriptor.
static inline int cmhd_connection_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

// Returns what the connection callback stored for this connection, or NULL.
static inline void *cmhd_socket_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

// Makes the library look at a connection that is resumed before it reads from it, or ends that. A resumed connection
// counts as readable; if its client has ended its sending, reading finds the end of the stream, and the library 0.9.75
// closes the connection although the reply to its request is ready. Of connections with the daemon's timeout it looks at
// the oldest only, of those with a timeout of their own at all (MHD_epoll in daemon.c). Call it on the library's thread.
static inline void cmhd_set_early_look(struct MHD_Connection *connection, bool looks) {
  // So long that our own deadlines come first; in seconds, of which the library makes milliseconds in 32 bits.
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, looks ? 1000000u : 0u);
}
