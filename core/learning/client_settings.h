// How a node trains in a run: tributary.v1.ClientSettings is the record, from the run file to the trainer.
// One table has the limits, the default and the meaning of each of its fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/config/config.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/encoder/strong_augmenter.h"
#include "core/nn/encoder/training_limits.h"
#include "core/parameters/update_encoding.h"
#include "core/status/faults.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// One field. Its name in the message is its key in the section [client] of a run file.
struct ClientSetting {
  const google::protobuf::FieldDescriptor* field = nullptr;
  nn::TrainingLimit limit = {0, 0};  // of a number
  double default_value = 0;          // of a number
  std::vector<std::string_view> choices =
      {};  // of an enumeration, or of a text that is not free; the first is the default
  // The workloads that alone have this setting; empty: every one has it.
  std::vector<std::string_view> workloads = {};
  // For a choice: what a task means that lacks it, and the default of a run that was stored before the
  // present one (ClientLimits::kStoredEarlier). Empty: a task must have it.
  std::string_view earlier = {};
  // A choice by its former name, and what the name is now.
  std::string_view former = {};
  std::string_view renamed = {};
  config::Help help;
};

// In the order of the section. Without what a run file says in another way: clip_norm stands at the file's
// top (ClipNormSetting) and schedule_steps follows from `schedule` and the number of rounds.
std::span<const ClientSetting> ClientSettingTable();
const ClientSetting& ClipNormSetting();

// The workloads, as ClientSettings.workload and ParticipateRequest.workloads name them.
inline constexpr std::string_view kSelfSupervised = "self_supervised";
inline constexpr std::string_view kClassifier = "classifier";
inline constexpr std::string_view kExternal = "external";
inline constexpr std::string_view kBeacon = "beacon";
inline constexpr std::string_view kModulation = "modulation";
inline constexpr std::string_view kPositioning = "positioning";

// At most kMostPlainName letters, digits, '-', '_' and '.': what names runs and trainers may have.
inline constexpr std::size_t kMostPlainName = 64;
bool IsPlainName(std::string_view name);

// Every field at its default; no schedule, no clipping.
v1::ClientSettings DefaultClientSettings();

// By which limits settings are judged.
enum class ClientLimits {
  kTraining,  // what every node takes
  kStored,    // for a run that was taken before: the lower ones alone, without which settings mean nothing
  kStoredEarlier,  // the same, by a release with other defaults
};

constexpr bool IsStored(ClientLimits limits) { return limits != ClientLimits::kTraining; }

// What v1.StoredRun.defaults is for a run that is started now; a lower number means kStoredEarlier.
inline constexpr std::uint32_t kRunFileDefaults = 1;

// What is wrong, by field: "must be from 2 to 4096, found 1". ASCII: it crosses the wire.
Faults FaultsOf(const v1::ClientSettings& settings, ClientLimits limits);

// Settings that came with a task: fills in what the task may lack and drops fields that are not known here.
// `masked`: the task masks updates, which travel as fixed32 and no otherwise. Errors: InvalidArgument naming
// the first field at fault, with its limits.
absl::Status AdoptFromTask(v1::ClientSettings& settings, bool masked);

// Reads [client] and clip_norm of a run file of so many rounds, and records faults there.
v1::ClientSettings ReadClientSettings(const config::ConfigSection& root, std::uint32_t rounds,
                                      ClientLimits limits);
// The section [client] of a run file that says the same, but for clip_norm.
std::string ClientSectionOf(const v1::ClientSettings& settings);

parameters::UpdateEncoding EncodingOf(const v1::ClientSettings& settings);

// The head of a run of classifiers is no part of the run's model: each node makes it from the run's seed.
bool HasPersonalHeads(const v1::ClientSettings& settings);
// Each node shifts the logits by how often it meets a class.
bool HasPersonalPriors(const v1::ClientSettings& settings);

// For settings within their limits.
nn::SelfSupervisedMethod MethodOf(const v1::ClientSettings& settings);
// The strong views, for images of this side.
nn::StrongAugmentationOptions StrongViewsOf(const v1::ClientSettings& settings, const nn::ImageShape& image);

// How a section's integers are limited by the training's limits.
config::IntegerLimits IntegersWithin(const nn::TrainingLimit& limit, ClientLimits limits);

}  // namespace tributary::learning
