// What the connections of an HTTP server share.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/http/http_limits.h"
#include "core/http/http_message.h"
#include "core/http/http_routes.h"
#include "core/runtime/mutex.h"

namespace tributary::http {

class HttpConnection;

// Asked before the body of a request is read, and again while its event stream is open: nothing admits it, a
// response refuses it. May note in `request.caller` who asks. On the server's thread.
using HttpGate = std::function<std::optional<HttpResponse>(HttpRequest& request)>;

// Carries answers of other threads to the server's thread, as long as there is one. Thread-safe.
class HttpMailbox {
 public:
  explicit HttpMailbox(boost::asio::io_context& io) : io_(&io) {}
  void Post(std::function<void()> task);
  // Whatever is posted later is dropped.
  void Close();

 private:
  runtime::Mutex mutex_;
  boost::asio::io_context* io_ GUARDED_BY(mutex_);
};

// What the connections of a server share. The server's thread, but for the counters and the mailbox.
struct HttpService {
  explicit HttpService(const HttpLimits& given) : limits(given) {}

  const HttpLimits limits;
  HttpRoutes routes;
  HttpGate gate;                                             // null: everything is admitted
  std::vector<std::pair<std::string, std::string>> headers;  // of every answer but streams and downloads
  HttpCounters counters;
  std::size_t sending_bytes = 0;
  std::map<std::string, std::size_t> of_address;  // open connections
  std::map<std::string, std::size_t> streams_of;  // open event streams, by caller
  // Connections without a request under way, the one that has waited longest first.
  std::list<HttpConnection*> waiting;
  boost::asio::io_context io{1};
  const std::shared_ptr<HttpMailbox> mailbox = std::make_shared<HttpMailbox>(io);
};

// The part of an address that one host commands: IPv4, or the 64 bits of an IPv6 network. Empty for the
// loopback, whose users share the machine anyway.
std::string HostOf(const boost::asio::ip::address& address);

}  // namespace tributary::http
