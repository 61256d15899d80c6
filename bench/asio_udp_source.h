// The baseline of udp_source_bench: UdpSource's loop, which waits by Boost.Asio instead of poll.
#pragma once

#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/runtime/clock.h"
#include "node/source/udp_account.h"
#include "node/source/udp_assembler.h"

namespace tributary {

// Without an address to accept only and without lines in the log, which cost nothing while all is well. Asio
// does not give ancillary data, so recvmsg reads the kernel's drops here, too. One thread.
class AsioUdpSource final : public source::Source {
 public:
  AsioUdpSource(const source::UdpAssemblerOptions& options, const runtime::Clock& clock)
      : clock_(clock),
        socket_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        account_(std::make_shared<source::UdpAccount>(socket_.local_endpoint().port())),
        assembler_(options),
        datagram_(source::kMaxUdpDatagramBytes + 1) {
    socket_.set_option(boost::asio::socket_base::receive_buffer_size(4 << 20));
    socket_.set_option(boost::asio::detail::socket_option::boolean<SOL_SOCKET, SO_RXQ_OVFL>(true));
    socket_.native_non_blocking(true);
  }

  absl::Status Next(std::stop_token stop, source::SensorFrame& frame) override {
    // Posted, because restart() would forget a stop().
    const std::stop_callback wake(stop, [this] { boost::asio::post(io_, [] {}); });
    for (;;) {
      if (stop.stop_requested()) return absl::CancelledError("stopped");
      if (assembler_.Take(frame)) return absl::OkStatus();
      Wait();
      Receive();
    }
  }
  std::uint64_t missed_frames() const override { return account_->counters().lost_slots; }
  std::shared_ptr<const source::UdpAccount> udp_account() const override { return account_; }

 private:
  void Wait() {
    if (!waiting_) {
      waiting_ = true;
      socket_.async_wait(boost::asio::socket_base::wait_read,
                         [this](const boost::system::error_code&) { waiting_ = false; });
    }
    io_.restart();
    io_.run_one();
  }

  void Receive() {
    for (int taken = 0; taken < 256 && !assembler_.ready(); ++taken) {
      boost::asio::ip::udp::endpoint sender;
      iovec space{datagram_.data(), datagram_.size()};
      alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint32_t))> control{};
      msghdr message{};
      message.msg_name = sender.data();
      message.msg_namelen = static_cast<socklen_t>(sender.capacity());
      message.msg_iov = &space;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      const ssize_t size = recvmsg(socket_.native_handle(), &message, 0);
      if (size < 0) return;
      sender.resize(message.msg_namelen);
      CountKernelDrops(message);
      account_->Add({.datagrams = 1});
      assembler_.Add(std::span(datagram_).first(static_cast<std::size_t>(size)), clock_.UnixNs());
      if (const source::UdpCounters lost = assembler_.TakeLosses(); lost.lost_subjects > 0)
        account_->Add(lost);
    }
  }

  void CountKernelDrops(const msghdr& message) {
    const cmsghdr* control = CMSG_FIRSTHDR(&message);
    if (control == nullptr || control->cmsg_type != SO_RXQ_OVFL) return;
    std::uint32_t drops = 0;
    std::memcpy(&drops, CMSG_DATA(control), sizeof(drops));
    if (drops == kernel_drops_) return;
    account_->Add({.kernel_drops = drops - kernel_drops_});
    kernel_drops_ = drops;
  }

  const runtime::Clock& clock_;
  boost::asio::io_context io_{1};
  boost::asio::ip::udp::socket socket_;
  bool waiting_ = false;  // a wait for socket_ is under way
  std::shared_ptr<source::UdpAccount> account_;
  source::UdpAssembler assembler_;
  std::uint32_t kernel_drops_ = 0;
  std::vector<std::byte> datagram_;
};

}  // namespace tributary
