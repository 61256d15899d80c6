// An opened graph behind the C interface.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/delegate/tributary_delegate.h"
#include "core/graph/quantised/section_runner.h"
#include "core/graph/session.h"

namespace tributary::delegate {

// Owns the session and the accelerator's target. Everything but Run is for any number of threads.
class OpenedDelegate {
 public:
  // `options` has the size of this version. Errors: InvalidArgument naming the field; those of Session::Load.
  static absl::StatusOr<std::unique_ptr<OpenedDelegate>> Open(std::string_view model,
                                                              const tributary_delegate_options& options);

  std::span<const graph::PortReport> inputs() const { return inputs_; }
  std::span<const graph::PortReport> outputs() const { return outputs_; }
  std::span<const graph::NodeReport> nodes() const { return session_->nodes(); }
  bool OnAccelerator(const graph::NodeReport& node) const {
    return target_ != nullptr && node.runs_on == target_->name();
  }
  // Why it is not on the accelerator; without one, why it is no part of a quantised layer, where one may
  // expect that.
  const char* WhyNot(const graph::NodeReport& node) const;
  tributary_delegate_plan plan() const;  // without its size

  // Errors: Unavailable while another thread runs it; InvalidArgument; those of Session::Run.
  absl::Status Run(std::span<const tributary_delegate_input_array> inputs,
                   std::span<const tributary_delegate_output_array> outputs);

 private:
  OpenedDelegate() = default;

  std::unique_ptr<graph::SectionTarget> target_;  // null: the processor computes all
  std::unique_ptr<graph::Session> session_;
  std::vector<graph::PortReport> inputs_, outputs_;
  std::atomic_flag runs_;
};

std::int32_t TypeNumberOf(graph::ElementType type);

}  // namespace tributary::delegate
