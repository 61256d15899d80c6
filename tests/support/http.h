// A daemon's HTTP answers, faults included.
#pragma once

#include <string>

namespace tributary::testing {

struct HttpAnswer {
  int status = 0;  // 0: no answer
  std::string content_type;
  std::string body;
};

// A GET on the loopback.
HttpAnswer HttpAsk(int port, const std::string& target);

// The data of the first server-sent event; empty after 5 s without one.
std::string HttpFirstEvent(int port, const std::string& target);

}  // namespace tributary::testing
