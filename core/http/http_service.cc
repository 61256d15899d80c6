#include "core/http/http_service.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace tributary::http {

namespace asio = boost::asio;

void HttpMailbox::Post(std::function<void()> task) {
  const runtime::MutexLock lock(mutex_);
  if (io_ != nullptr) asio::post(*io_, std::move(task));
}

void HttpMailbox::Close() {
  const runtime::MutexLock lock(mutex_);
  io_ = nullptr;
}

std::string HostOf(const asio::ip::address& address) {
  if (address.is_v4()) return address.is_loopback() ? "" : address.to_v4().to_string();
  const asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return HostOf(asio::ip::make_address_v4(asio::ip::v4_mapped, v6));
  if (v6.is_loopback()) return "";
  const auto bytes = v6.to_bytes();
  return {bytes.begin(), bytes.begin() + 8};
}

}  // namespace tributary::http
