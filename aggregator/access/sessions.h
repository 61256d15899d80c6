// The sessions of browsers: a cookie in place of a bearer token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tributary::access {

// A page cannot keep a token safely, and an event stream of a browser sends no header of its own. A session
// speaks for the token by which it was opened, and ends with it. Lost at a restart. One thread.
class Sessions {
 public:
  static constexpr std::int64_t kLifetimeS = 12 * 3'600;
  static constexpr std::size_t kMost = 256;       // in all; the oldest makes room
  static constexpr std::size_t kMostOfToken = 8;  // the oldest of the token makes room

  // The secret of a new session, 64 hexadecimal digits. Internal: no random numbers.
  absl::StatusOr<std::string> Open(const std::string& token_id, std::int64_t now_unix_s);
  // The id of the token that the session speaks for; empty: no such session, or it has expired.
  std::string TokenOf(std::string_view secret, std::int64_t now_unix_s) const;
  void Close(std::string_view secret);

  std::size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    std::string token_id;
    std::int64_t opened_unix_s = 0;
    std::uint64_t number = 0;  // in the order of opening
  };
  void MakeRoom(const std::string& token_id, std::int64_t now_unix_s);

  // By the hash of the secret, so that a look-up tells nothing of a secret by the time that it takes.
  std::map<std::string, Session, std::less<>> sessions_;
  std::uint64_t opened_ = 0;
};

}  // namespace tributary::access
