// One connection of the HTTP server. Included by the server only.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/http/http_limits.h"
#include "core/http/http_message.h"
#include "core/http/http_routes.h"
#include "core/http/http_stream.h"
#include "core/runtime/mutex.h"

namespace tributary::http {

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
  boost::asio::io_context io{1};
  const std::shared_ptr<HttpMailbox> mailbox = std::make_shared<HttpMailbox>(io);
};

// The part of an address that one host commands: IPv4, or the 64 bits of an IPv6 network. Empty for the
// loopback, whose users share the machine anyway.
std::string HostOf(const boost::asio::ip::address& address);

// The next moment that is a multiple of the interval. Streams of one interval share these moments: their
// readers get the same event, which its source then prints once.
std::chrono::steady_clock::time_point NextTick(std::chrono::steady_clock::time_point now,
                                               std::chrono::steady_clock::duration interval);

// Request, response, request … or request, events. Its pending operation keeps it alive.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // `tls`: null for plain HTTP. The service outlives it.
  HttpConnection(HttpService& service, boost::asio::ip::tcp::socket socket,
                 std::shared_ptr<boost::asio::ssl::context> tls);
  ~HttpConnection();

  void Start();
  // Instead of Start: answers once and closes.
  void Reject(int status, std::string_view why);

 private:
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void OnHandshake(Error error);
  void ReadHeader();
  void OnHeader(Error error);
  // Fills request_; what is wrong with it, if anything.
  std::optional<HttpResponse> TakeHeader();
  std::optional<HttpResponse> CheckBody(const HttpRoute& route);
  void ReadBody();
  void OnBody(Error error);
  // The answer to bytes that are no request; nothing: the connection is closed.
  std::optional<HttpResponse> FaultOf(Error error) const;

  void Handle();
  void Answer(HttpAnswer answer);
  void Await(const HttpPending& pending);
  void Send(HttpResponse response);
  void Download(HttpDownload download);
  void SendPiece();
  void Done();

  void Stream(HttpEventStream events);
  void WriteEvent(std::string text);
  void WaitForEvent();
  void NextEvent();

  void Write(std::string text, void (HttpConnection::*then)());
  void Close();
  void Linger();

  HttpService& service_;
  HttpStream stream_;
  const std::shared_ptr<HttpPeer> peer_;
  const std::string host_;
  boost::asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_{64 * 1024};
  std::optional<Parser> parser_;
  HttpRequest request_;
  const HttpRoute* route_ = nullptr;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> response_;
  std::size_t body_bytes_ = 0;  // of response_, while it is being sent
  bool keep_alive_ = false;
  bool head_ = false;
  bool unread_ = false;  // the peer may still be sending the request that is answered

  std::string text_;  // being written, where it is no response_
  std::optional<HttpDownload> download_;
  std::uint64_t left_bytes_ = 0;  // of download_
  std::optional<HttpEventStream> events_;
  std::chrono::steady_clock::time_point next_event_;
  std::chrono::steady_clock::time_point last_write_;
  std::size_t lingered_bytes_ = 0;
};

}  // namespace tributary::http
