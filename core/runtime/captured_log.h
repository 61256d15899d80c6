// For tests: what the process logs while this object lives.
#pragma once

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <sstream>
#include <string>

namespace tributary::runtime {

class CapturedLog {
 public:
  CapturedLog() {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~CapturedLog() { spdlog::set_default_logger(former_); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::string text() const { return text_.str(); }
  std::ptrdiff_t lines() const { return std::ranges::count(text_.str(), '\n'); }

 private:
  const std::shared_ptr<spdlog::logger> former_ = spdlog::default_logger();
  std::ostringstream text_;
};

}  // namespace tributary::runtime
