#include "core/http/http_connection.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/http/http_tls.h"

namespace tributary::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

// A comment line keeps proxies from closing the connection when there is no news.
constexpr std::chrono::seconds kKeepAlive{15};
constexpr std::chrono::milliseconds kMinInterval{10};
// A refused peer may still be sending: closing at once would reset the connection and lose the answer.
constexpr std::chrono::seconds kLinger{1};
constexpr std::size_t kLingerBytes = std::size_t{1} << 20;

std::string AddressText(asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const asio::ip::tcp::endpoint end = socket.remote_endpoint(error);
  if (error) return "";
  const std::string address = end.address().to_string(error);
  return end.address().is_v6() ? fmt::format("[{}]:{}", address, end.port())
                               : fmt::format("{}:{}", address, end.port());
}

std::string HostOfPeer(asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const asio::ip::tcp::endpoint end = socket.remote_endpoint(error);
  return error ? "" : HostOf(end.address());
}

}  // namespace

std::chrono::steady_clock::time_point NextTick(std::chrono::steady_clock::time_point now,
                                               std::chrono::steady_clock::duration interval) {
  return now + interval - now.time_since_epoch() % interval;
}

HttpConnection::HttpConnection(HttpService& service, asio::ip::tcp::socket socket,
                               std::shared_ptr<asio::ssl::context> tls)
    : service_(service),
      stream_(std::move(socket), std::move(tls)),
      peer_(std::make_shared<HttpPeer>(HttpPeer{AddressText(stream_.tcp().socket()), stream_.tls()})),
      host_(HostOfPeer(stream_.tcp().socket())),
      timer_(service.io),
      next_event_(std::chrono::steady_clock::now()) {
  ++service_.counters.open_connections;
  ++service_.of_address[host_];
}

HttpConnection::~HttpConnection() {
  EndToWait();
  --service_.counters.open_connections;
  if (--service_.of_address[host_] == 0) service_.of_address.erase(host_);
  service_.sending_bytes -= body_bytes_;
  if (!events_) return;
  --service_.counters.open_streams;
  const auto share = service_.streams_of.find(stream_owner_);
  if (--share->second == 0) service_.streams_of.erase(share);
}

void HttpConnection::BeginToWait() {
  EndToWait();
  waits_ = service_.waiting.insert(service_.waiting.end(), this);
}

void HttpConnection::EndToWait() {
  if (waits_) service_.waiting.erase(*waits_);
  waits_.reset();
}

void HttpConnection::GiveWay() {
  EndToWait();
  service_.counters.CountRefusal(HttpRefusal::kGaveWay);
  Error ignored;
  stream_.tcp().socket().close(ignored);
}

void HttpConnection::Start() {
  if (!stream_.tls()) return ReadHeader();
  BeginToWait();
  stream_.tcp().expires_after(service_.limits.timeout);
  stream_.async_handshake([self = shared_from_this()](Error error) { self->OnHandshake(error); });
}

void HttpConnection::OnHandshake(Error error) {
  if (!error) {
    peer_->certificate_pem = ClientCertificate(stream_.ssl());
    return ReadHeader();
  }
  const bool hung_up = error == asio::error::eof || error == asio::error::connection_reset ||
                       error == asio::ssl::error::stream_truncated;
  service_.counters.CountRefusal(error == beast::error::timeout ? HttpRefusal::kHandshakeTimeout
                                 : hung_up                      ? HttpRefusal::kHandshakeClosed
                                                                : HttpRefusal::kHandshake);
  if (error.category() != asio::error::get_ssl_category() ||
      ERR_GET_REASON(static_cast<unsigned long>(error.value())) != SSL_R_HTTP_REQUEST) {
    return;
  }
  EndToWait();
  stream_.GoOnInPlain();
  Reject(400, "this port speaks HTTPS: ask https://");
}

void HttpConnection::Reject(int status, std::string_view why) {
  unread_ = true;
  keep_alive_ = false;
  Send(HttpProblem(status, why));
}

void HttpConnection::ReadHeader() {
  BeginToWait();
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(service_.limits.header_bytes));
  // The route's limit is not known yet. Without any, Boost 1.74 refuses every Content-Length.
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
  stream_.tcp().expires_after(service_.limits.timeout);
  bhttp::async_read_header(stream_, buffer_, *parser_,
                           [self = shared_from_this()](Error error, std::size_t) { self->OnHeader(error); });
}

void HttpConnection::OnHeader(Error error) {
  EndToWait();
  unread_ = true;
  keep_alive_ = false;
  asked_ = {};
  // A connection that is idle between two requests is not slow.
  if (error == beast::error::timeout && buffer_.size() > 0) {
    service_.counters.CountRefusal(HttpRefusal::kSlow);
  }
  if (error) {
    if (auto fault = AnswerToFault(error, asked_.route)) Send(*std::move(fault));
    return;
  }
  std::optional<HttpResponse> fault = TakeHeader(service_, peer_, *parser_, asked_);
  if (fault) {
    unread_ = asked_.endless || !parser_->is_done();
    keep_alive_ = !unread_ && parser_->get().keep_alive();
    return Send(*std::move(fault));
  }
  if (parser_->is_done()) return OnBody({});
  ReadBody();
}

void HttpConnection::ReadBody() {
  stream_.tcp().expires_after(service_.limits.timeout);
  const auto read = [self = shared_from_this()] {
    bhttp::async_read(self->stream_, self->buffer_, *self->parser_,
                      [self](Error error, std::size_t) { self->OnBody(error); });
  };
  if (absl::AsciiStrToLower(asked_.request.Header("Expect")) != "100-continue") return read();
  text_ = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(text_), [read](Error error, std::size_t) {
    if (!error) read();
  });
}

void HttpConnection::OnBody(Error error) {
  if (error == beast::error::timeout) service_.counters.CountRefusal(HttpRefusal::kSlow);
  if (error) {
    if (auto fault = AnswerToFault(error, asked_.route)) Send(*std::move(fault));
    return;
  }
  unread_ = false;
  keep_alive_ = parser_->get().keep_alive();
  asked_.request.body = std::move(parser_->get().body());
  Handle();
}

void HttpConnection::Handle() { Answer(asked_.route->handler(asked_.request)); }

void HttpConnection::Answer(HttpAnswer answer) {
  if (auto* response = std::get_if<HttpResponse>(&answer)) return Send(std::move(*response));
  if (auto* download = std::get_if<HttpDownload>(&answer)) return Download(std::move(*download));
  if (auto* pending = std::get_if<HttpPending>(&answer)) return Await(*pending);
  Stream(std::move(std::get<HttpEventStream>(answer)));
}

// The timer keeps the connection alive meanwhile: the answer may never come.
void HttpConnection::Await(const HttpPending& pending) {
  stream_.tcp().expires_never();
  const auto answered = std::make_shared<bool>(false);
  timer_.expires_after(service_.limits.patience);
  timer_.async_wait([self = shared_from_this(), answered](Error) {
    if (std::exchange(*answered, true)) return;
    self->Send(HttpProblem(504, "no answer in time; look whether it was done"));
  });
  pending.begin([weak = weak_from_this(), mailbox = service_.mailbox, answered](HttpPending::Answer answer) {
    auto carried = std::make_shared<HttpPending::Answer>(std::move(answer));
    mailbox->Post([weak, carried, answered] {
      const auto self = weak.lock();
      if (self == nullptr || std::exchange(*answered, true)) return;
      self->timer_.cancel();
      std::visit([&](auto& each) { self->Answer(HttpAnswer(std::move(each))); }, *carried);
    });
  });
}

// Readers that are slow together hold one large answer, or many small ones.
void HttpConnection::Send(HttpResponse response) {
  if (service_.sending_bytes > 0 &&
      service_.sending_bytes + response.body.size() > service_.limits.sent_bytes) {
    response = HttpProblem(503, "too many answers are being read: come back later");
  }
  service_.counters.CountAnswer(response.status);
  response_.emplace();
  response_->version(11);
  response_->result(static_cast<unsigned>(response.status));
  response_->set(bhttp::field::content_type, response.content_type);
  response_->set(bhttp::field::cache_control, "no-store");
  response_->set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : service_.headers) response_->set(name, value);
  for (const auto& [name, value] : response.headers) response_->set(name, value);
  response_->keep_alive(keep_alive_);
  const std::size_t length = response.body.size();
  if (!asked_.head) response_->body() = std::move(response.body);
  body_bytes_ = response_->body().size();
  service_.sending_bytes += body_bytes_;
  // 204 and 304 have no body, nor a length (RFC 9110, section 8.6).
  if (response.status != 204 && response.status != 304) response_->content_length(length);
  stream_.tcp().expires_after(service_.limits.timeout);
  bhttp::async_write(stream_, *response_, [self = shared_from_this()](Error error, std::size_t) {
    if (error) return;
    self->service_.sending_bytes -= std::exchange(self->body_bytes_, 0);
    self->response_.reset();
    self->Done();
  });
}

void HttpConnection::Done() {
  if (keep_alive_) return ReadHeader();
  Close();
}

void HttpConnection::Write(std::string text, void (HttpConnection::*then)()) {
  text_ = std::move(text);
  stream_.tcp().expires_after(service_.limits.timeout);
  asio::async_write(stream_, asio::buffer(text_),
                    [self = shared_from_this(), then](Error error, std::size_t) {
                      if (!error) ((*self).*then)();
                    });
}

void HttpConnection::Download(HttpDownload download) {
  service_.counters.CountAnswer(200);
  std::string head = fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: {}\r\n",
      download.content_type, download.bytes, keep_alive_ ? "keep-alive" : "close");
  for (const auto& [name, value] : download.headers) head += fmt::format("{}: {}\r\n", name, value);
  left_bytes_ = asked_.head ? 0 : download.bytes;
  download_ = std::move(download);
  Write(head + "\r\n", &HttpConnection::SendPiece);
}

void HttpConnection::SendPiece() {
  if (left_bytes_ == 0) {
    download_.reset();
    text_ = {};
    return Done();
  }
  absl::StatusOr<std::string> piece = download_->next();
  if (!piece.ok() || piece->empty() || piece->size() > left_bytes_) return;  // closes
  left_bytes_ -= piece->size();
  Write(*std::move(piece), &HttpConnection::SendPiece);
}

std::string HttpConnection::StreamOwner() const {
  const HttpCaller& caller = asked_.request.caller;
  return caller.name.empty() ? "address " + host_ : "name " + caller.name;
}

void HttpConnection::Stream(HttpEventStream events) {
  if (service_.counters.open_streams >= service_.limits.streams) {
    keep_alive_ = false;
    return Send(HttpProblem(503, "too many event streams"));
  }
  std::string owner = StreamOwner();
  const auto share = service_.streams_of.find(owner);
  if (share != service_.streams_of.end() && share->second >= service_.limits.streams_of_caller) {
    keep_alive_ = false;
    return Send(HttpProblem(503, "too many event streams of yours: close a page"));
  }
  if (asked_.head) return Send({200, "text/event-stream", ""});
  events_ = std::move(events);
  events_->interval = std::max<std::chrono::microseconds>(events_->interval, kMinInterval);
  ++service_.counters.open_streams;
  stream_owner_ = std::move(owner);
  ++service_.streams_of[stream_owner_];
  service_.counters.CountAnswer(200);
  // The end of the connection ends the response: no length, no chunks.
  WriteEvent(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
}

void HttpConnection::WriteEvent(std::string text) {
  last_write_ = std::chrono::steady_clock::now();
  Write(std::move(text), &HttpConnection::WaitForEvent);
}

void HttpConnection::WaitForEvent() {
  stream_.tcp().expires_never();
  next_event_ = NextTick(std::chrono::steady_clock::now(), events_->interval);
  NextEvent();
}

void HttpConnection::NextEvent() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_event_) {
    const auto judged = now + service_.limits.judge_every;
    timer_.expires_at(service_.gate ? std::min(next_event_, judged) : next_event_);
    timer_.async_wait([self = shared_from_this()](Error error) {
      if (error) return;
      if (self->service_.gate && self->service_.gate(self->asked_.request)) {
        ++self->service_.counters.ended_streams;
        return self->Close();
      }
      self->NextEvent();
    });
    return;
  }
  if (const std::optional<HttpEvent> event = events_->next()) {
    const std::string id = event->id.empty() ? "" : fmt::format("id: {}\n", event->id);
    return WriteEvent(fmt::format("{}data: {}\n\n", id, event->data));
  }
  if (now - last_write_ > kKeepAlive) return WriteEvent(":\n\n");
  next_event_ = NextTick(now, events_->interval);
  NextEvent();
}

void HttpConnection::Close() {
  if (!stream_.tls()) return Linger();
  stream_.tcp().expires_after(kLinger);
  stream_.async_shutdown([self = shared_from_this()](Error) { self->Linger(); });
}

void HttpConnection::Linger() {
  Error ignored;
  stream_.tcp().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  if (!unread_ || lingered_bytes_ >= kLingerBytes) return;
  if (lingered_bytes_ == 0) stream_.tcp().expires_after(kLinger);
  buffer_.clear();
  stream_.tcp().async_read_some(buffer_.prepare(16 << 10),
                                [self = shared_from_this()](Error error, std::size_t bytes) {
                                  self->lingered_bytes_ += bytes;
                                  if (!error) self->Linger();
                                });
}

}  // namespace tributary::http
