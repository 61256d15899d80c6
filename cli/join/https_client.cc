#include "cli/join/https_client.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

constexpr std::chrono::seconds kPatience{10};

// Runs the steps of one exchange, each begun by the one before. Throws what Asio throws.
class Exchange {
 public:
  Exchange(const HttpsServer& server, const HttpsRequest& request) : server_(server) {
    if (server.ca_pem.empty()) {
      tls_.set_verify_mode(asio::ssl::verify_none);
    } else {
      tls_.add_certificate_authority(asio::buffer(server.ca_pem));
      tls_.set_verify_mode(asio::ssl::verify_peer);
      tls_.set_verify_callback(asio::ssl::host_name_verification(server.address.host));
    }
    const bool v6 = server.address.host.find(':') != std::string::npos;
    request_ = {request.json.empty() ? bhttp::verb::get : bhttp::verb::post, request.target, 11};
    request_.set(bhttp::field::host, fmt::format(fmt::runtime(v6 ? "[{}]:{}" : "{}:{}"), server.address.host,
                                                 server.address.port));
    request_.set(bhttp::field::connection, "close");
    if (!request.token.empty()) request_.set(bhttp::field::authorization, "Bearer " + request.token);
    if (!request.json.empty()) request_.set(bhttp::field::content_type, "application/json");
    request_.body() = request.json;
    request_.prepare_payload();
    parser_.body_limit(kMostAnswerBytes);
  }

  // What went wrong, and in which step.
  beast::error_code Run() {
    stream_.emplace(io_, tls_);
    // A server may have several certificates, and choose by this name.
    SSL_set_tlsext_host_name(stream_->native_handle(), server_.address.host.c_str());
    resolver_.async_resolve(
        server_.address.host, std::to_string(server_.address.port),
        [this](beast::error_code error, const asio::ip::tcp::resolver::results_type& found) {
          if (Failed(error, "resolve")) return;
          beast::get_lowest_layer(*stream_).async_connect(
              found, [this](beast::error_code failed, const asio::ip::tcp::endpoint&) {
                if (!Failed(failed, "connect")) Handshake();
              });
        });
    io_.run_for(kPatience);
    if (!done_) error_ = beast::error::timeout;
    return error_;
  }

  HttpsResponse Answer() { return {static_cast<int>(parser_.get().result_int()), parser_.get().body()}; }
  std::string_view step() const { return step_; }

 private:
  bool Failed(beast::error_code error, std::string_view step) {
    error_ = error;
    step_ = step;
    if (error) done_ = true;
    return static_cast<bool>(error);
  }
  void Handshake() {
    stream_->async_handshake(asio::ssl::stream_base::client, [this](beast::error_code error) {
      if (Failed(error, "handshake")) return;
      bhttp::async_write(*stream_, request_, [this](beast::error_code failed, std::size_t) {
        if (!Failed(failed, "write")) Read();
      });
    });
  }
  void Read() {
    bhttp::async_read(*stream_, buffer_, parser_, [this](beast::error_code error, std::size_t) {
      Failed(error, "read");
      done_ = true;
    });
  }

  const HttpsServer server_;
  asio::io_context io_{1};
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  asio::ip::tcp::resolver resolver_{io_};
  std::optional<beast::ssl_stream<beast::tcp_stream>> stream_;
  bhttp::request<bhttp::string_body> request_;
  bhttp::response_parser<bhttp::string_body> parser_;
  beast::flat_buffer buffer_{kMostAnswerBytes + (std::size_t{16} << 10)};
  beast::error_code error_;
  std::string_view step_ = "resolve";
  bool done_ = false;
};

}  // namespace

absl::StatusOr<HttpsResponse> AskHttps(const HttpsServer& server, const HttpsRequest& request) {
  const std::string where = fmt::format("{}:{}", server.address.host, server.address.port);
  try {
    Exchange exchange(server, request);
    const beast::error_code error = exchange.Run();
    if (!error) return exchange.Answer();
    const std::string text = fmt::format("{}: {}: {}", where, exchange.step(), error.message());
    constexpr const char* kPort = "; the address must be of the aggregator's HTTPS, not of its gRPC";
    if (exchange.step() == "read" && error != beast::error::timeout) return absl::DataLossError(text + kPort);
    if (exchange.step() == "connect" && error == asio::error::connection_refused)
      return absl::UnavailableError(text + "; nobody listens there; is the aggregator running?");
    if (exchange.step() != "handshake") return absl::UnavailableError(text);
    return absl::UnavailableError(
        text + (server.ca_pem.empty()
                    ? "; its [http] must say tls = true"
                    : "; the certificate of the aggregator is not of this authority, or "
                      "not for this address: make it with `tributary certs --server NAME=ADDRESS`"));
  } catch (const std::exception& fault) {
    return absl::UnavailableError(fmt::format("{}: {}", where, fault.what()));
  }
}

}  // namespace tributary::cli
