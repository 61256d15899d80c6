#include "tests/support/http.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <string_view>

namespace tributary::testing {
namespace {

namespace beast = boost::beast;

void Send(beast::tcp_stream& stream, int port, const std::string& target) {
  stream.expires_after(std::chrono::seconds(5));
  stream.connect({boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)});
  beast::http::request<beast::http::empty_body> request(beast::http::verb::get, target, 11);
  request.set(beast::http::field::host, "localhost");
  request.set(beast::http::field::connection, "close");
  beast::http::write(stream, request);
}

}  // namespace

HttpAnswer HttpAsk(int port, const std::string& target) {
  try {
    boost::asio::io_context context;
    beast::tcp_stream stream(context);
    Send(stream, port, target);
    beast::flat_buffer buffer;
    beast::http::response<beast::http::string_body> response;
    beast::http::read(stream, buffer, response);
    return {static_cast<int>(response.result_int()),
            std::string(response[beast::http::field::content_type].data(),
                        response[beast::http::field::content_type].size()),
            response.body()};
  } catch (const std::exception&) {
    return {};
  }
}

std::string HttpFirstEvent(int port, const std::string& target) {
  constexpr std::string_view kData = "data: ";
  std::string text;
  try {
    boost::asio::io_context context;
    beast::tcp_stream stream(context);
    Send(stream, port, target);
    for (char bytes[4096];;) {
      const std::size_t begin = text.find(kData);
      const std::size_t end = begin == std::string::npos ? begin : text.find("\n\n", begin);
      if (end != std::string::npos) return text.substr(begin + kData.size(), end - begin - kData.size());
      text.append(bytes, stream.read_some(boost::asio::buffer(bytes)));
    }
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace tributary::testing
