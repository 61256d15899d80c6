#include <fmt/format.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/wire/hello.h"
#include "tests/faults/attacks/attack.h"
#include "tests/faults/attacks/evil_hello.h"
#include "tests/faults/attacks/raw_socket.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/fusion.pb.h"
#include "tributary/v1/run.pb.h"

namespace tributary::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// From another address than the honest peers: a flood keeps its address out for a while.
std::shared_ptr<grpc::Channel> Connection(const Target& target) {
  RawSocket socket(target.port);
  // Nobody listens there.
  if (!socket.open()) return grpc::CreateChannel("127.0.0.2:1", grpc::InsecureChannelCredentials());
  return grpc::CreateInsecureChannelFromFd("attacker", socket.ReleaseNonBlocking());
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
  // The same; false if no answer came that parses.
  template <class Message>
  bool Hear(Message& answer, milliseconds limit) {
    Hear(limit);
    return alive_ && grpc::SerializationTraits<Message>::Deserialize(&answer_, &answer).ok();
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

// Models of 100 MB that are never complete.
void SendHalfModels(const Target& target) {
  v1::StartRunRequest config;
  config.set_config("name = \"x\"");
  v1::StartRunRequest chunk;
  chunk.set_chunk(std::string(std::size_t{1} << 20, 'x'));
  const std::string begin = config.SerializeAsString(), more = chunk.SerializeAsString();
  Together(target, 6, [&](int) {
    OpenCall call(Connection(target), "/tributary.v1.RunService/StartRun");
    bool going = call.Say(begin);
    for (int i = 0; i < 100 && going && !target.over; ++i) going = call.Say(more);
    Pause(target, going ? milliseconds(3000) : milliseconds(10));
  });
}

// Nodes that join, take their task, begin to send an update and say no more. Needs a run with a large model.
void SendSlowUpdates(const Target& target) {
  Together(target, 24, [&](int i) {
    const std::shared_ptr<grpc::Channel> connection = Connection(target);
    v1::ParticipateRequest join;
    join.set_node(fmt::format("evil-{}", i));
    join.set_boot_id(wire::NewBootId());
    join.set_sample_count(10);
    OpenCall tasks(connection, "/tributary.v1.FederationService/Participate");
    tasks.Say(join.SerializeAsString());
    v1::ParticipateResponse task;
    while (!target.over && !task.has_train() && tasks.Hear(task, milliseconds(1000))) {
    }
    if (!task.has_train()) return Pause(target, milliseconds(100));
    v1::SubmitUpdateRequest request;
    v1::UpdateHeader& header = *request.mutable_header();
    header.set_run(task.run());
    header.set_round(task.train().round());
    header.set_node(join.node());
    header.set_boot_id(join.boot_id());
    header.set_schema_sha256(task.train().schema_sha256());
    header.set_base_model_sha256(task.train().model_sha256());
    header.set_encoding(v1::UPDATE_ENCODING_INT8);
    header.set_element_count(task.train().element_count());
    header.set_sample_count(10);
    OpenCall upload(connection, "/tributary.v1.FederationService/SubmitUpdate");
    upload.Say(request.SerializeAsString());
    for (int second = 0; second < 60 && !target.over; ++second) upload.Hear(milliseconds(1000));
  });
}

constexpr const char* kReport = "/tributary.v1.FusionService/Report";

// Nodes with 64 sources each: 32 stay, each next one takes the place of the oldest.
void FillSourceNames(const Target& target) {
  std::deque<std::unique_ptr<OpenCall>> nodes;
  for (int n = 0; !target.over; ++n) {
    nodes.push_back(std::make_unique<OpenCall>(Connection(target), kReport));
    nodes.back()->Say(EvilHello(fmt::format("evil-{}", n), 64 * n, 64));
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

// Streams of nodes that say more than their declaration: gRPC keeps what nobody reads, a megabyte of each.
void SendUnreadMessages(const Target& target) {
  Together(target, 4, [&](int i) {
    const std::shared_ptr<grpc::Channel> connection = Connection(target);
    std::deque<OpenCall> calls;
    for (int n = 0; n < 400 && !target.over; ++n) {
      v1::ParticipateRequest join;
      join.set_node(fmt::format("evil-{}-{}", i, n));
      join.set_boot_id(wire::NewBootId());
      OpenCall& call = calls.emplace_back(connection, "/tributary.v1.FederationService/Participate");
      if (!call.Say(join.SerializeAsString()) || !call.Say(std::string(900'000, 'x'))) break;
    }
    Pause(target, milliseconds(1000));
  });
}

constexpr Attack kAttacks[] = {
    {"empty_strings", SayEmptyStrings},
    {"empty_shares", SayEmptyShares},
    {"half_sent_models", SendHalfModels},
    {"slow_uploads", SendSlowUpdates},
    {"unread_messages", SendUnreadMessages},
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
