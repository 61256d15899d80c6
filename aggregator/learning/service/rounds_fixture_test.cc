// The fixture's functions; linked into the tests of this folder only.
#include "aggregator/learning/service/rounds_fixture.h"

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <utility>

#include "core/parameters/crc32c.h"
#include "core/parameters/flat_model.h"
#include "core/parameters/safetensors.h"

namespace tributary::testing {
namespace {

constexpr std::chrono::seconds kPatience{20};

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
}

}  // namespace

RoundsHost::RoundsHost() {
  char name[] = "/tmp/rounds_test.XXXXXX";
  folder_ = mkdtemp(name);
}

RoundsHost::~RoundsHost() {
  Stop();
  std::filesystem::remove_all(folder_);
}

void RoundsHost::Start(store::StoreStepHook hook) {
  options_.folder = store();
  auto coordinator = learning::Coordinator::Start(options_, clock_, std::move(hook));
  ASSERT_TRUE(coordinator.ok()) << coordinator.status();
  coordinator_ = *std::move(coordinator);
  services_ = learning::MakeServices(*coordinator_, nullptr, patience_);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  for (const auto& service : services_) builder.RegisterService(service.get());
  if (contexts_ != nullptr) builder.SetContextAllocator(std::move(contexts_));
  server_ = builder.BuildAndStart();
  ASSERT_NE(server_, nullptr);
  channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials());
}

void RoundsHost::Stop() {
  if (coordinator_ == nullptr) return;
  coordinator_->Drain();
  if (server_ != nullptr)
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  server_.reset();
  coordinator_.reset();
}

std::string RoundsHost::ModelFile(std::size_t elements) {
  std::vector<float> values(elements);
  std::iota(values.begin(), values.end(), 0.0f);
  parameters::TensorSet set;
  set.tensors["w"] = parameters::FloatTensor(std::vector<std::uint64_t>{elements}, values);
  return parameters::EncodeSafetensors(set);
}

grpc::Status RoundsHost::StartRun(const std::string& config, const std::string& model) const {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::StartRunResponse response;
  const auto stub = v1::RunService::NewStub(channel_);
  const auto writer = stub->StartRun(&context, &response);
  v1::StartRunRequest request;
  request.set_config(config);
  writer->Write(request);
  request.clear_config();
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  for (std::size_t at = 0; at < model.size(); at += kChunk) {
    request.set_chunk(model.substr(at, kChunk));
    writer->Write(request);
  }
  writer->WritesDone();
  return writer->Finish();
}

v1::GetRunResponse RoundsHost::Run(const std::string& run) const {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetRunRequest request;
  request.set_run(run);
  v1::GetRunResponse response;
  const grpc::Status status = v1::RunService::NewStub(channel_)->GetRun(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

std::vector<float> RoundsHost::Parameters(std::uint32_t round, const std::string& run) const {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ReadModelRequest request;
  request.set_run(run);
  request.set_round(round);
  const auto stub = v1::ModelService::NewStub(channel_);
  const auto reader = stub->ReadModel(&context, request);
  std::string file;
  v1::ReadModelResponse response;
  while (reader->Read(&response)) {
    EXPECT_EQ(response.offset(), file.size());
    EXPECT_EQ(response.crc32c(), parameters::Crc32c(response.bytes()));
    file += response.bytes();
  }
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  auto model = parameters::DecodeFlatModel(file);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? std::move(model->values) : std::vector<float>();
}

v1::Round RoundsHost::WaitForRound(std::uint32_t round) const {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::WatchRunRequest request;
  request.set_run("r");
  const auto stub = v1::RunService::NewStub(channel_);
  const auto reader = stub->WatchRun(&context, request);
  v1::WatchRunResponse response;
  while (reader->Read(&response)) {
    for (const v1::Round& each : response.rounds()) {
      if (each.round() != round || each.rolled_back()) continue;
      context.TryCancel();
      return each;
    }
  }
  ADD_FAILURE() << "round " << round << " did not come: " << reader->Finish().error_message();
  return {};
}

TestNode::TestNode(const RoundsHost& host, std::string name, std::uint64_t samples, std::string run)
    : name_(std::move(name)),
      run_(std::move(run)),
      samples_(samples),
      stub_(v1::FederationService::NewStub(host.channel())) {
  SetDeadline(context_);
  v1::ParticipateRequest request;
  request.set_node(name_);
  request.set_boot_id(std::string(16, 'b'));
  request.set_run(run_);
  request.set_sample_count(samples_);
  request.add_workloads("self_supervised");
  request.set_secure_aggregation(true);
  stream_ = stub_->Participate(&context_, request);
}

TestNode::~TestNode() { context_.TryCancel(); }

v1::ParticipateResponse TestNode::Next() {
  v1::ParticipateResponse response;
  return stream_->Read(&response) ? response : v1::ParticipateResponse();
}

v1::TrainTask TestNode::NextTrain() {
  for (;;) {
    const v1::ParticipateResponse response = Next();
    if (response.has_train()) return response.train();
    if (response.task_case() == v1::ParticipateResponse::TASK_NOT_SET) {
      ADD_FAILURE() << name_ << ": the stream ended before a task came";
      return {};
    }
  }
}

grpc::Status TestNode::End() {
  v1::ParticipateResponse response;
  while (stream_->Read(&response)) {
  }
  return stream_->Finish();
}

v1::UpdateHeader TestNode::Header(const v1::TrainTask& task) const {
  v1::UpdateHeader header;
  header.set_run(run_);
  header.set_round(task.round());
  header.set_node(name_);
  header.set_boot_id(std::string(16, 'b'));
  header.set_schema_sha256(task.schema_sha256());
  header.set_base_model_sha256(task.model_sha256());
  header.set_encoding(v1::UPDATE_ENCODING_FLOAT32);
  header.set_element_count(task.element_count());
  header.set_sample_count(samples_);
  header.mutable_metrics()->set_loss(-0.5);
  header.mutable_metrics()->set_spread(0.9);
  return header;
}

std::vector<v1::SubmitUpdateRequest> TestNode::Messages(const v1::UpdateHeader& header,
                                                        const std::vector<float>& delta, std::size_t block) {
  std::vector<v1::SubmitUpdateRequest> messages(1);
  *messages[0].mutable_header() = header;
  for (std::size_t at = 0; at < delta.size(); at += block) {
    const std::size_t count = std::min(block, delta.size() - at);
    v1::UpdateChunk& chunk = *messages.emplace_back().mutable_chunk();
    chunk.set_offset(at);
    chunk.set_count(static_cast<std::uint32_t>(count));
    chunk.set_payload(std::string(parameters::BytesOf({&delta[at], count})));
    chunk.set_crc32c(parameters::Crc32c(chunk.payload()));
  }
  return messages;
}

v1::SubmitUpdateResponse TestNode::Submit(const v1::UpdateHeader& header, const std::vector<float>& delta,
                                          std::size_t block) const {
  return Send(Messages(header, delta, block));
}

v1::SubmitUpdateResponse TestNode::Send(const std::vector<v1::SubmitUpdateRequest>& messages) const {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::SubmitUpdateResponse response;
  const auto writer = stub_->SubmitUpdate(&context, &response);
  for (const v1::SubmitUpdateRequest& message : messages) {
    if (!writer->Write(message)) break;  // it has been answered already
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

bool SlowNode::Begin(const std::vector<float>& delta, std::size_t block) {
  messages_ = TestNode::Messages(node_.Header(node_.NextTrain()), delta, block);
  writer_ = stub_->SubmitUpdate(&context_, &response_);
  return SendNext() && SendNext();
}

const v1::SubmitUpdateResponse& SlowNode::Answer() {
  const grpc::Status status = writer_->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response_;
}

}  // namespace tributary::testing
