// A TCP relay on the loopback that can silence connections without closing them, like a pulled cable.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace tributary::testing {

class CuttableLink {
 public:
  // Relays to this port of the loopback.
  explicit CuttableLink(int port);
  ~CuttableLink();

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Silences the present connections; new ones work.
  void Cut();

 private:
  struct Connection {
    int client = -1;
    int server = -1;
    std::atomic<bool> cut = false;
    std::thread up;
    std::thread down;
  };

  void Accept();
  static void Relay(int from, int to, const std::atomic<bool>& cut);

  const int target_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::list<Connection> connections_;
  std::thread accepting_;
};

}  // namespace tributary::testing
