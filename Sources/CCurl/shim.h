#pragma once
#include <curl/curl.h>
#include <fcntl.h>
#include <stdint.h>

// curl_easy_setopt and curl_easy_getinfo are variadic, which Swift can't import: one function per argument type.

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, const void *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_writer(
    CURL *handle, size_t (*writer)(char *bytes, size_t size, size_t count, void *context), void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, writer);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
}

static inline CURLcode ccurl_set_reader(
    CURL *handle, size_t (*reader)(char *bytes, size_t size, size_t count, void *context), void *context) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, reader);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_READDATA, context);
}

static inline curl_socket_t ccurl_copy_connection(
    void *connection, curlsocktype purpose, struct curl_sockaddr *address) {
  return fcntl((int)(intptr_t)connection, F_DUPFD_CLOEXEC, 0);
}

static inline int ccurl_is_connected(void *connection, curl_socket_t copy, curlsocktype purpose) {
  return CURL_SOCKOPT_ALREADY_CONNECTED;
}

// Has a transfer use a copy of a connection that is open already. The callbacks are here since they belong together, and
// their argument is a number in a pointer.
static inline CURLcode ccurl_set_connection(CURL *handle, int connection) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, ccurl_copy_connection);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, (void *)(intptr_t)connection);
  return code != CURLE_OK ? code : curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, ccurl_is_connected);
}

static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}
