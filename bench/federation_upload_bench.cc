// Ten updates of 25 M parameters into one round of an aggregator: over gRPC, and over plain TCP sockets into
// the same code (checksum, range check, store, sum). Both alternate; only the transport differs.
//
// usage: federation_upload_bench [ROUNDS [NODES [ELEMENTS [FOLDER]]]]
// Prints one line of JSON: medians of GB/s and of their ratio, and the server's resident memory. FOLDER is
// the store's: in memory (/dev/shm), so that no disk is measured.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/services.h"
#include "aggregator/server/ingest_server.h"
#include "core/parameters/crc32c.h"
#include "core/parameters/flat_model.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/clock.h"
#include "core/runtime/process.h"
#include "tributary/v1/federation.grpc.pb.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary {
namespace {

constexpr std::size_t kChunkElements = parameters::kMaxChunkBytes / sizeof(float);

struct Ports {
  int grpc = 0;
  int tcp = 0;
};

struct ChunkHead {
  std::uint64_t offset;
  std::uint32_t count;
  std::uint32_t bytes;
  std::uint32_t crc32c;
  std::uint32_t last;
};

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "federation_upload_bench: %s\n", what.c_str());
  std::_Exit(1);
}

void ReadFully(int fd, void* data, std::size_t size) {
  for (auto* at = static_cast<char*>(data); size > 0;) {
    const ssize_t got = read(fd, at, size);
    if (got <= 0) Die("a connection broke");
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

void WriteFully(int fd, const void* data, std::size_t size) {
  for (const auto* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t sent = write(fd, at, size);
    if (sent <= 0) Die("a connection broke");
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

// The server's side of one plain upload.
void ServeTcp(int fd, learning::Coordinator& coordinator) {
  std::uint32_t size = 0;
  ReadFully(fd, &size, sizeof size);
  std::string bytes(size, '\0');
  ReadFully(fd, bytes.data(), bytes.size());
  v1::UpdateHeader header;
  if (!header.ParseFromString(bytes)) Die("no header");
  const std::string run = header.run();
  if (!learning::CheckMessage(header).ok()) Die("a wrong header");
  std::promise<learning::Coordinator::Began> began;
  coordinator.BeginUpload(run, /*owner=*/"bench", header,
                          [&](learning::Coordinator::Began result) { began.set_value(std::move(result)); });
  learning::Coordinator::Began result = began.get_future().get();
  if (const auto* answer = std::get_if<learning::Admission>(&result)) Die(answer->message);
  auto begun = std::get<learning::BegunUpload>(std::move(result));
  v1::UpdateChunk chunk;
  for (ChunkHead head{}; head.last == 0;) {
    ReadFully(fd, &head, sizeof head);
    chunk.mutable_payload()->resize(head.bytes);
    ReadFully(fd, chunk.mutable_payload()->data(), chunk.payload().size());
    chunk.set_offset(head.offset);
    chunk.set_count(head.count);
    chunk.set_crc32c(head.crc32c);
    if (auto refusal = begun.upload->Take(chunk)) Die(refusal->message);
  }
  std::promise<learning::AdmissionVerdict> verdict;
  coordinator.Submit(run, std::move(begun),
                     [&](const learning::Admission& given) { verdict.set_value(given.verdict); });
  const char accepted = verdict.get_future().get() != learning::AdmissionVerdict::kRefused ? 1 : 0;
  WriteFully(fd, &accepted, 1);
  close(fd);
}

// The child process: an aggregator's runs. It ends when it is killed.
[[noreturn]] void Serve(const std::string& folder, int ports_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  runtime::TuneProcess();
  const runtime::SystemClock clock;
  const learning::HostingOptions hosting{
      .folder = folder, .keep_models = 1, .max_model_bytes = std::size_t{256} << 20};
  auto coordinator = learning::Coordinator::Start(hosting, clock);
  if (!coordinator.ok()) Die(std::string(coordinator.status().message()));
  const auto services = learning::MakeServices(**coordinator);
  Ports ports;
  // The aggregator's own server, for its settings.
  server::IngestOptions options;
  options.listen = "127.0.0.1:0";
  for (const auto& service : services) options.services.push_back(service.get());
  publish::AggregatorState state{clock};
  const auto server = server::IngestServer::Start(options, state);
  if (!server.ok()) Die(std::string(server.status().message()));
  ports.grpc = (*server)->port();
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener, 64) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    Die("cannot listen");
  }
  ports.tcp = ntohs(address.sin_port);
  WriteFully(ports_fd, &ports, sizeof ports);
  for (;;) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd < 0) Die("cannot accept");
    std::thread([fd, &coordinator = **coordinator] { ServeTcp(fd, coordinator); }).detach();
  }
}

double ResidentMb(pid_t pid, const std::string& what) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what)) return std::stod(line.substr(what.size() + 1)) / 1024;
  }
  return 0;
}

// One node: its stream of tasks and both ways to send.
class Node {
 public:
  Node(std::string name, const Ports& ports) : name_(std::move(name)), ports_(ports) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    stub_ = v1::FederationService::NewStub(grpc::CreateCustomChannel(
        fmt::format("127.0.0.1:{}", ports.grpc), grpc::InsecureChannelCredentials(), arguments));
    v1::ParticipateRequest request;
    request.set_node(name_);
    request.set_boot_id(std::string(16, 'b'));
    request.set_sample_count(1);
    request.add_workloads("self_supervised");
    stream_ = stub_->Participate(&context_, request);
  }

  void WaitForTask() {
    v1::ParticipateResponse response;
    do {
      if (!stream_->Read(&response)) Die("the stream of tasks ended: " + stream_->Finish().error_message());
    } while (!response.has_train());
    const v1::TrainTask& task = response.train();
    header_.set_run(response.run());
    header_.set_round(task.round());
    header_.set_node(name_);
    header_.set_boot_id(std::string(16, 'b'));
    header_.set_schema_sha256(task.schema_sha256());
    header_.set_base_model_sha256(task.model_sha256());
    header_.set_encoding(v1::UPDATE_ENCODING_FLOAT32);
    header_.set_element_count(task.element_count());
    header_.set_sample_count(1);
  }

  void SendGrpc(const std::string& chunk) const {
    grpc::ClientContext context;
    v1::SubmitUpdateResponse response;
    const auto writer = stub_->SubmitUpdate(&context, &response);
    v1::SubmitUpdateRequest request;
    *request.mutable_header() = header_;
    writer->Write(request);
    request.clear_header();
    request.mutable_chunk()->set_payload(chunk);
    ForEachChunk(chunk, [&](const ChunkHead& head) {
      v1::UpdateChunk& wire = *request.mutable_chunk();
      if (wire.payload().size() != head.bytes) wire.mutable_payload()->resize(head.bytes);
      wire.set_offset(head.offset);
      wire.set_count(head.count);
      wire.set_crc32c(head.crc32c);
      writer->Write(request);
    });
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (!status.ok() || !response.accepted()) Die("refused: " + status.error_message() + response.message());
  }

  void SendTcp(const std::string& chunk) const {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(ports_.tcp));
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) Die("cannot connect");
    const std::string header = header_.SerializeAsString();
    const auto size = static_cast<std::uint32_t>(header.size());
    WriteFully(fd, &size, sizeof size);
    WriteFully(fd, header.data(), header.size());
    ForEachChunk(chunk, [&](const ChunkHead& head) {
      WriteFully(fd, &head, sizeof head);
      WriteFully(fd, chunk.data(), head.bytes);
    });
    char accepted = 0;
    ReadFully(fd, &accepted, 1);
    if (accepted != 1) Die("refused");
    close(fd);
  }

 private:
  template <class Send>
  void ForEachChunk(const std::string& chunk, const Send& send) const {
    const std::size_t total = header_.element_count();
    const std::uint32_t full_crc = parameters::Crc32c(chunk);
    for (std::size_t offset = 0; offset < total; offset += kChunkElements) {
      const auto count = static_cast<std::uint32_t>(std::min(kChunkElements, total - offset));
      const auto bytes = static_cast<std::uint32_t>(count * sizeof(float));
      const bool full = bytes == chunk.size();
      send(ChunkHead{offset, count, bytes, full ? full_crc : parameters::Crc32c({chunk.data(), bytes}),
                     offset + count == total});
    }
  }

  const std::string name_;
  const Ports ports_;
  std::unique_ptr<v1::FederationService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::ParticipateResponse>> stream_;
  v1::UpdateHeader header_;
};

void StartRun(const Ports& ports, std::size_t nodes, std::size_t elements) {
  parameters::TensorSet set;
  set.tensors["w"] =
      parameters::FloatTensor(std::vector<std::uint64_t>{elements}, std::vector<float>(elements));
  const std::string model = parameters::EncodeSafetensors(set);
  grpc::ClientContext context;
  v1::StartRunResponse response;
  const auto stub = v1::RunService::NewStub(
      grpc::CreateChannel(fmt::format("127.0.0.1:{}", ports.grpc), grpc::InsecureChannelCredentials()));
  const auto writer = stub->StartRun(&context, &response);
  v1::StartRunRequest request;
  request.set_config(fmt::format(
      "name = \"bench\"\nrounds = 1000\nmin_nodes = {}\nquorum = {}\ndeadline_s = 600\n", nodes, nodes));
  writer->Write(request);
  request.clear_config();
  for (std::size_t at = 0; at < model.size(); at += parameters::kMaxChunkBytes) {
    request.set_chunk(model.substr(at, parameters::kMaxChunkBytes));
    writer->Write(request);
  }
  writer->WritesDone();
  if (const grpc::Status status = writer->Finish(); !status.ok()) Die(status.error_message());
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int Measure(int rounds, std::size_t nodes, std::size_t elements, const std::string& folder) {
  int pipe_fds[2];
  if (pipe(pipe_fds) != 0) Die("no pipe");
  const pid_t server = fork();
  if (server == 0) Serve(folder, pipe_fds[1]);
  Ports ports;
  ReadFully(pipe_fds[0], &ports, sizeof ports);
  // One more than measured: it ends the round off the clock.
  StartRun(ports, nodes + 1, elements);
  std::vector<std::unique_ptr<Node>> all;
  for (std::size_t i = 0; i <= nodes; ++i)
    all.push_back(std::make_unique<Node>(fmt::format("n{:02}", i), ports));

  std::vector<float> values(kChunkElements);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1e-3f * static_cast<float>(i % 1000);
  const std::string chunk(parameters::BytesOf(values));
  const double gigabytes = 4e-9 * static_cast<double>(elements * nodes);
  std::vector<double> grpc_rates, tcp_rates, ratios;
  const double idle_mb = ResidentMb(server, "VmRSS:");
  double resident_mb = 0;
  for (int round = 0; round < rounds; ++round) {
    std::array<double, 2> rates{};
    for (const bool tcp : {false, true}) {
      for (const auto& node : all) node->WaitForTask();
      const auto start = std::chrono::steady_clock::now();
      std::vector<std::jthread> senders;
      for (std::size_t i = 0; i < nodes; ++i) {
        senders.emplace_back([&, i] { tcp ? all[i]->SendTcp(chunk) : all[i]->SendGrpc(chunk); });
      }
      senders.clear();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      rates[tcp] = gigabytes / seconds.count();
      // Before the first plain upload, whose threads leave memory behind, too.
      if (!tcp && round == 0) resident_mb = ResidentMb(server, "VmRSS:");
      all[nodes]->SendTcp(chunk);
    }
    grpc_rates.push_back(rates[0]);
    tcp_rates.push_back(rates[1]);
    ratios.push_back(rates[0] / rates[1]);
  }
  fmt::print(
      "{{\"nodes\": {}, \"elements\": {}, \"grpc_gb_s\": {:.3f}, \"tcp_gb_s\": {:.3f}, \"ratio\": {:.3f}, "
      "\"server_resident_mb\": {:.0f}, \"server_peak_mb\": {:.0f}, \"server_idle_mb\": {:.0f}, \"model_mb\": "
      "{:.0f}}}\n",
      nodes, elements, Median(grpc_rates), Median(tcp_rates), Median(ratios), resident_mb,
      ResidentMb(server, "VmHWM:"), idle_mb, 4e-6 * static_cast<double>(elements));
  std::fflush(stdout);
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  std::filesystem::remove_all(folder);
  std::_Exit(0);  // the streams of tasks end with the process
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  const auto number = [&](int i, long fallback) { return argc > i ? std::atol(argv[i]) : fallback; };
  return tributary::Measure(static_cast<int>(number(1, 5)), static_cast<std::size_t>(number(2, 10)),
                            static_cast<std::size_t>(number(3, 25'000'000)),
                            argc > 4 ? argv[4] : fmt::format("/dev/shm/federation_upload.{}", getpid()));
}
