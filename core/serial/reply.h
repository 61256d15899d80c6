// What the board answers over its serial line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/serial/board.h"
#include "core/serial/command.h"

namespace tributary::serial {

// Names this protocol: what [BEACON] has, and refusals, time-outs and acknowledgements beside it.
inline constexpr char kVersionReply[] = "beacon 1";

// Lines without their end. Outputs: "y0,y1". Done: "ok", or "ok EPOCHS BEFORE AFTER taken|kept" after a
// retraining. Refused: "error POSITION WHAT".
std::string OutputsText(const Outputs& outputs);
std::string RetrainingText(const Retraining& retraining);
std::string RefusalText(std::size_t position, std::string_view what);

struct Refusal {
  std::size_t position = 0;
  std::string what;
};
struct Done {
  std::string what;  // behind "ok"
};
using Reply = std::variant<Outputs, Done, Refusal>;

// As a master reads it. Errors: DataLoss for a line that is no reply.
absl::StatusOr<Reply> ParseReply(std::string_view line);

}  // namespace tributary::serial
