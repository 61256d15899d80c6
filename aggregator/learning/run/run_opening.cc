#include "aggregator/learning/run/run_opening.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "aggregator/learning/run/messages.h"
#include "core/learning/trainable_model.h"
#include "core/parameters/safetensors.h"
#include "core/privacy/differential_privacy.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

absl::StatusOr<std::string> ReadAll(const store::Store& store, const store::FileFacts& facts) {
  ASSIGN_OR_RETURN(store::CheckedReader reader, store.Read(facts));
  std::string content(facts.bytes, '\0');
  RETURN_IF_ERROR(reader.Read(content.data(), content.size()).status());
  return content;
}

absl::StatusOr<parameters::FlatModel> DecodeGiven(std::string_view file) {
  absl::StatusOr<parameters::FlatModel> model = parameters::DecodeFlatModel(file);
  if (model.ok()) return model;
  return absl::InvalidArgumentError(fmt::format("model: {}", std::string(model.status().message())));
}

absl::Status CheckGiven(const RunConfig& config, std::string_view file) {
  const absl::StatusOr<parameters::TensorSet> set = parameters::DecodeSafetensors(file);
  if (!set.ok()) return absl::OkStatus();  // DecodeGiven refuses it
  return WithContext("model", CheckTrainable(config.client, *set, config.strategy.kind));
}

// What the draw of a round's nodes is mixed with. Epsilon counts on nobody knowing who took part
// (amplification by sampling), so with noise it is a secret of this process; 0 without. Errors: those of the
// system's entropy.
absl::StatusOr<std::uint64_t> SecretOfDraws(const PrivacySettings& privacy) {
  if (privacy.noise_multiplier <= 0 || privacy.noise_seed != 0) return 0;
  ASSIGN_OR_RETURN(const privacy::Key32 entropy, privacy::NoiseKey(0, 0));
  std::uint64_t secret = 0;
  std::memcpy(&secret, entropy.data(), sizeof secret);
  return secret;
}

// What the store keeps of a parent's run, and RestoreRun reads. The name is a valid one.
std::string RelayedRunFile(const RunConfig& config) {
  return fmt::format(
      "# Relayed: the parent's settings, as far as nodes need them.\nname = \"{}\"\nrounds = {}\nmin_nodes = "
      "{}\n"
      "max_nodes = {}\nmax_samples = {}\nmax_element = {}\n\n{}",
      config.name, config.rounds, config.min_nodes, config.max_nodes, config.max_samples, config.max_element,
      ClientSectionOf(config.client));
}

absl::StatusOr<std::unique_ptr<RunParts>> Make(const RunSurroundings& surroundings,
                                               std::string_view config_text, RunConfig config,
                                               parameters::FlatModel model, const v1::StoredRun& stored = {},
                                               std::span<const v1::StoredUpdate> accepted = {}) {
  const ModelFacts facts{model.layout.schema_sha256,
                         parameters::FlatIdentity(model.layout.tensors, model.values),
                         model.layout.element_count};
  ASSIGN_OR_RETURN(const std::uint64_t lots, SecretOfDraws(config.privacy));
  RunModel kept(config.strategy, std::move(model));
  ASSIGN_OR_RETURN(RunRules rules, RunRules::Restore(std::move(config), facts, stored, accepted, lots));
  return std::make_unique<RunParts>(surroundings, config_text, std::move(rules), std::move(kept));
}

// Into the store, with its model after `model_round`.
absl::StatusOr<std::unique_ptr<Run>> Add(std::unique_ptr<RunParts> run, std::uint32_t model_round) {
  run->account.started_unix_ns = run->surroundings.clock.UnixNs();
  ASSIGN_OR_RETURN(WrittenModel model,
                   run->model.Write(run->surroundings.store, run->name(), model_round,
                                    run->state.model().model, run->account.started_unix_ns));
  RETURN_IF_ERROR(run->journal.AddRun(*run->config_text, run->Stored(), std::move(model)));
  return std::make_unique<Run>(std::move(run));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Run>> StartRun(const RunSurroundings& surroundings, std::string_view config,
                                              std::string_view model_file) {
  ASSIGN_OR_RETURN(RunConfig parsed, ParseRunConfig(config, "run"));
  RETURN_IF_ERROR(CheckGiven(parsed, model_file));
  ASSIGN_OR_RETURN(parameters::FlatModel model, DecodeGiven(model_file));
  ASSIGN_OR_RETURN(std::unique_ptr<RunParts> run,
                   Make(surroundings, config, std::move(parsed), std::move(model)));
  return Add(std::move(run), 0);
}

absl::StatusOr<std::unique_ptr<Run>> StartRelayedRun(const RunSurroundings& surroundings,
                                                     const RunConfig& config, std::string_view model_file,
                                                     const ParentRound& round) {
  RETURN_IF_ERROR(Validate(config));
  const std::string text = RelayedRunFile(config);
  ASSIGN_OR_RETURN(RunConfig parsed, ParseRunConfig(text, "the parent's run", ClientLimits::kStored));
  parsed.relayed = true;
  ASSIGN_OR_RETURN(parameters::FlatModel model, DecodeGiven(model_file));
  ASSIGN_OR_RETURN(std::unique_ptr<RunParts> run,
                   Make(surroundings, text, std::move(parsed), std::move(model)));
  if (run->state.model().model != round.model) {
    return absl::InvalidArgumentError(
        fmt::format("the parent's model of round {} is not the one that it announced", round.round));
  }
  return Add(std::move(run), round.round - 1);
}

absl::StatusOr<std::unique_ptr<Run>> RestoreRun(const RunSurroundings& surroundings,
                                                const store::RunRecord& record) {
  ASSIGN_OR_RETURN(const auto stored, ParseStored<v1::StoredRun>(record.document, "run"));
  const bool earlier = stored.defaults() < kRunFileDefaults;
  ASSIGN_OR_RETURN(RunConfig config,
                   ParseRunConfig(record.config, record.name,
                                  earlier ? ClientLimits::kStoredEarlier : ClientLimits::kStored));
  config.defaults = stored.defaults();
  config.relayed = stored.relayed();
  const absl::StatusOr<store::ModelRecord> present =
      surroundings.store.Model(record.name, record.model_round);
  if (!present.ok()) return absl::DataLossError(present.status().message());
  ASSIGN_OR_RETURN(const std::string file, ReadAll(surroundings.store, present->file));
  absl::StatusOr<parameters::FlatModel> model = parameters::DecodeFlatModel(file);
  if (!model.ok()) return absl::DataLossError(model.status().message());

  ASSIGN_OR_RETURN(const auto submissions, surroundings.store.Submissions(record.name));
  std::vector<v1::StoredUpdate> accepted;
  std::vector<KeptUpdate> updates;
  for (const store::SubmissionRecord& each : submissions) {
    ASSIGN_OR_RETURN(accepted.emplace_back(), ParseUpdate(each.document));
    updates.push_back({accepted.back(), each.file});
  }
  ASSIGN_OR_RETURN(std::unique_ptr<RunParts> run,
                   Make(surroundings, record.config, std::move(config), *std::move(model), stored, accepted));
  RETURN_IF_ERROR(run->model.LoadStrategyState(surroundings.store, *present));
  RETURN_IF_ERROR(run->journal.Reload(*present));
  const Round* open = run->state.under_way();
  const std::uint64_t refused = stored.open().refused_updates();
  run->account = {.started_unix_ns = record.started_unix_ns,
                  .accepted = stored.accepted_updates() + updates.size(),
                  .refused = stored.refused_updates() + refused,
                  .declined = stored.declined_tasks(),
                  .epsilon = stored.epsilon(),
                  .round_started_unix_ns = stored.open().started_unix_ns(),
                  .round_refused = refused,
                  .failure = stored.failure()};
  if (stored.has_clusters()) run->clusters = std::make_shared<const v1::Clusters>(stored.clusters());
  if (open != nullptr) {
    RETURN_IF_ERROR(run->sum.AddUpAgain(FixedPointOf(open->started()), std::move(updates)));
  }
  run->ReleaseIfEnded();
  return std::make_unique<Run>(std::move(run));
}

}  // namespace tributary::learning
