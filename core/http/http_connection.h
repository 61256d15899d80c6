// One connection of the HTTP server. Included by the server only.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/http/http_message.h"
#include "core/http/http_request_header.h"
#include "core/http/http_service.h"
#include "core/http/http_stream.h"

namespace tributary::http {

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
  // Closes it in favour of a newcomer: it has no request under way.
  void GiveWay();
  // Instead of Start: answers once and closes.
  void Reject(int status, std::string_view why);

 private:
  // Its place among those that wait for a request.
  void BeginToWait();
  void EndToWait();
  // Whose share of event streams it uses.
  std::string StreamOwner() const;

  using Error = boost::system::error_code;

  void OnHandshake(Error error);
  void ReadHeader();
  void OnHeader(Error error);
  void ReadBody();
  void OnBody(Error error);

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
  std::optional<HttpParser> parser_;
  HttpAsked asked_;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> response_;
  std::size_t body_bytes_ = 0;  // of response_, while it is being sent
  bool keep_alive_ = false;
  bool unread_ = false;  // the peer may still be sending the request that is answered

  std::string text_;  // being written, where it is no response_
  std::optional<HttpDownload> download_;
  std::uint64_t left_bytes_ = 0;  // of download_
  std::optional<HttpEventStream> events_;
  std::chrono::steady_clock::time_point next_event_;
  std::chrono::steady_clock::time_point last_write_;
  std::size_t lingered_bytes_ = 0;
  std::optional<std::list<HttpConnection*>::iterator> waits_;
  std::string stream_owner_;
};

}  // namespace tributary::http
