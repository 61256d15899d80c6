// For tests: a connection over loopback.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <string>

#include "aggregator/server/socket.h"
#include "core/runtime/descriptor.h"

namespace tributary::server {

struct TcpPair {
  runtime::Descriptor own{-1}, other{-1};

  TcpPair() {
    const runtime::Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener.get(), name, size), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    EXPECT_EQ(getsockname(listener.get(), name, &size), 0);
    other = runtime::Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(other.get(), name, size), 0);
    own = runtime::Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  }

  Socket socket_of_own() const { return {own.get(), InodeOf(own.get())}; }
  void Send(std::size_t bytes) const {
    const std::string text(bytes, 'a');
    EXPECT_EQ(send(other.get(), text.data(), bytes, 0), static_cast<ssize_t>(bytes));
  }
};

}  // namespace tributary::server
