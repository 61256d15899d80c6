// A TCP relay on the loopback whose connections can be silenced without being closed: a cable that is pulled.
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
  // Nothing passes any more on the connections that exist now; new ones work.
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
