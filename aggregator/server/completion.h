// Tags of a completion queue that carry their handler.
#pragma once

namespace tributary::server {

class Completion {
 public:
  // Called on the queue's thread. `ok` is gRPC's for the operation. May delete the owner of this tag.
  virtual void Complete(bool ok) = 0;

 protected:
  ~Completion() = default;
};

// Calls a member function: CompletionOf<&Call::OnRead> read_{this};
template <auto Reaction>
class CompletionOf;

template <typename Owner, void (Owner::*Reaction)(bool)>
class CompletionOf<Reaction> final : public Completion {
 public:
  explicit CompletionOf(Owner* owner) : owner_(owner) {}
  void Complete(bool ok) override { (owner_->*Reaction)(ok); }

 private:
  Owner* const owner_;
};

}  // namespace tributary::server
