#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/wire/hello.h"
#include "tests/faults/attacks/attack.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/fusion.pb.h"
#include "tributary/v1/run.pb.h"

namespace tributary::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

std::shared_ptr<grpc::Channel> Connection(const Target& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", target.port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

// A call that says what it is told, and stays open.
class OpenCall {
 public:
  OpenCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& path) : stub_(channel) {
    stream_ = stub_.PrepareCall(&context_, path, &queue_);
    stream_->StartCall(this);
    alive_ = Next(milliseconds(2000));
  }
  ~OpenCall() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  bool alive() const { return alive_; }
  // False if the call is over, or its message does not leave within a second.
  bool Say(const std::string& message) {
    if (!alive_) return false;
    const grpc::Slice slice(message);
    stream_->Write(grpc::ByteBuffer(&slice, 1), this);
    alive_ = Next(milliseconds(1000));
    return alive_;
  }
  // Waits for an answer or the end.
  void Hear(milliseconds limit) {
    if (!alive_) return;
    stream_->Read(&answer_, this);
    alive_ = Next(limit);
  }

 private:
  bool Next(milliseconds limit) {
    void* tag = nullptr;
    bool ok = false;
    return queue_.AsyncNext(&tag, &ok, system_clock::now() + limit) == grpc::CompletionQueue::GOT_EVENT && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::ByteBuffer answer_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool alive_ = false;
};

void Pause(const Target& target, milliseconds longest) {
  for (milliseconds waited{0}; waited < longest && !target.over; waited += milliseconds(10)) {
    std::this_thread::sleep_for(milliseconds(10));
  }
}

// Does the same on several threads.
void Together(const Target& target, int threads, const std::function<void(int)>& attack) {
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      while (!target.over) attack(i);
    });
  }
}

// A message of `head` and 900,000 empty elements of field `number`.
std::string WithEmptyElements(const std::string& head, int number) {
  std::string message = head;
  for (int i = 0; i < 900'000; ++i) {
    message += static_cast<char>(number << 3 | 2);
    message += '\0';
  }
  return message;
}

void SayRepeatedly(const Target& target, const std::string& path, const std::string& message) {
  Together(target, 8, [&](int) {
    OpenCall call(Connection(target), path);
    call.Say(message);
    call.Hear(milliseconds(1000));
  });
}

void SayEmptyStrings(const Target& target) {
  v1::ParticipateRequest request;
  request.set_node("evil");
  request.set_boot_id(wire::NewBootId());
  SayRepeatedly(
      target, "/tributary.v1.FederationService/Participate",
      WithEmptyElements(request.SerializeAsString(), v1::ParticipateRequest::kWorkloadsFieldNumber));
}

void SayEmptyShares(const Target& target) {
  v1::ShareKeysRequest request;
  request.set_run("r");
  request.set_node("evil");
  request.set_round(1);
  SayRepeatedly(target, "/tributary.v1.FederationService/ShareKeys",
                WithEmptyElements(request.SerializeAsString(), v1::ShareKeysRequest::kSharesFieldNumber));
}

// Six models of 100 MB that are never complete; `chunk_pause`: between their chunks.
void SendModels(const Target& target, int models, std::size_t chunk_bytes, milliseconds chunk_pause) {
  v1::StartRunRequest config;
  config.set_config("name = \"x\"");
  v1::StartRunRequest chunk;
  chunk.set_chunk(std::string(chunk_bytes, 'x'));
  const std::string begin = config.SerializeAsString(), more = chunk.SerializeAsString();
  Together(target, models, [&](int) {
    OpenCall call(Connection(target), "/tributary.v1.RunService/StartRun");
    bool going = call.Say(begin);
    for (int i = 0; i < 100 && going && !target.over; ++i) {
      going = call.Say(more);
      Pause(target, chunk_pause);
    }
    Pause(target, going ? milliseconds(3000) : milliseconds(10));
  });
}

std::string Hello(const std::string& node, int first_source, int sources) {
  v1::ReportRequest request;
  v1::Hello& hello = *request.mutable_hello();
  hello.set_site("room");
  hello.set_node(node);
  hello.set_boot_id(wire::NewBootId());
  for (int i = 0; i < sources; ++i) {
    wire::AddSource(hello, fmt::format("evil-{}", first_source + i), 2, {"spare"});
  }
  return request.SerializeAsString();
}

constexpr const char* kReport = "/tributary.v1.FusionService/Report";

// Nodes with 64 sources each: 32 stay, each next one takes the place of the oldest.
void FillSourceNames(const Target& target) {
  std::deque<std::unique_ptr<OpenCall>> nodes;
  for (int n = 0; !target.over; ++n) {
    nodes.push_back(std::make_unique<OpenCall>(Connection(target), kReport));
    nodes.back()->Say(Hello(fmt::format("evil-{}", n), 64 * n, 64));
    nodes.back()->Hear(milliseconds(100));
    if (nodes.size() > 32) nodes.pop_front();
  }
}

// Keeps `most` calls open that say nothing, `of_connection` of them on each connection.
void KeepSilentCalls(const Target& target, const std::string& path, std::size_t most,
                     std::size_t of_connection) {
  std::deque<std::unique_ptr<OpenCall>> calls;
  std::shared_ptr<grpc::Channel> connection;
  for (std::size_t n = 0; !target.over; ++n) {
    if (n % of_connection == 0) connection = Connection(target);
    calls.push_back(std::make_unique<OpenCall>(connection, path));
    if (calls.size() > most) calls.pop_front();
  }
}

constexpr Attack kAttacks[] = {
    {"empty_strings", SayEmptyStrings},
    {"empty_shares", SayEmptyShares},
    {"half_sent_models",
     [](const Target& target) { SendModels(target, 6, std::size_t{1} << 20, milliseconds(0)); }},
    {"slow_uploads", [](const Target& target) { SendModels(target, 8, 1024, milliseconds(100)); }},
    {"source_names", FillSourceNames},
    {"silent_reports", [](const Target& target) { KeepSilentCalls(target, kReport, 1000, 100); }},
    {"idle_reflections",
     [](const Target& target) {
       KeepSilentCalls(target, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", 200, 40);
     }},
};

}  // namespace

std::span<const Attack> CallAttacks() { return kAttacks; }

}  // namespace tributary::testing
