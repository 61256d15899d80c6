#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/evaluate/encoder_judgement.h"
#include "cli/failure.h"
#include "core/images/image_set.h"
#include "core/images/images_stream.h"
#include "core/images/split.h"
#include "core/learning/client_settings.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/nn/encoder/label_free_evaluation.h"
#include "core/nn/encoder/strong_augmenter.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "node/learner/augmentation.h"

namespace tributary::cli {
namespace {

struct TrainSelfSupervisedArguments {
  std::string images = "glyphs", labels, test_images, test_labels, out = "encoder.safetensors";
  std::size_t image_side = 28;
  bool colour = false;
  std::uint64_t steps = 4000;
  nn::SelfSupervisedOptions options = nn::FreshOptions(learning::MethodOf(learning::DefaultClientSettings()));
  images::ImageSplitOptions split;
  std::size_t part = 0;
  // As a run file that names nothing.
  std::string augmentation = learning::DefaultClientSettings().augmentation();
  nn::StrongAugmentationOptions views;
  std::size_t buffer = 0;
  bool json = false;
};

nn::SelfSupervisedOptions OptionsOf(const TrainSelfSupervisedArguments& arguments,
                                    const nn::ImageShape& image) {
  nn::SelfSupervisedOptions options = arguments.options;
  options.bottleneck = nn::FreshOptions(options.method).bottleneck;
  options.encoder.side = image.side;
  options.encoder.input_channels = image.channels;
  options.schedule_steps = arguments.steps;
  if (options.encoder.quantised) {
    options.encoder.norm = nn::EncoderNorm::kNone;
    options.encoder.activation = nn::EncoderActivation::kHardClip;
  }
  return options;
}

// What a node of a federated run would have: one part of the set.
absl::StatusOr<std::vector<std::uint32_t>> PartOf(const images::ImageSet& set,
                                                  const TrainSelfSupervisedArguments& arguments) {
  if (arguments.part >= arguments.split.nodes) {
    return UsageError(
        fmt::format("--shard-index {} is not below --shards {}", arguments.part, arguments.split.nodes));
  }
  ASSIGN_OR_RETURN(const auto parts, images::SplitImages(set.count(), set.labels, arguments.split));
  return parts[arguments.part];
}

absl::Status Train(const TrainSelfSupervisedArguments& arguments) {
  RETURN_IF_ERROR(CheckOutput(
      arguments.out, {arguments.images, arguments.labels, arguments.test_images, arguments.test_labels}));
  const nn::ImageShape fitted = {arguments.image_side, arguments.colour ? nn::ImageShape::kColour : 1};
  ASSIGN_OR_RETURN(const auto set, images::ReadImages({arguments.images, arguments.labels, fitted},
                                                      images::ImageUse::kTraining));
  if (set.count() == 0) return absl::InvalidArgumentError("the image file holds no image");
  nn::StrongAugmentationOptions views = arguments.views;
  views.side = set.side;
  views.channels = set.channels;
  ASSIGN_OR_RETURN(auto augmenter, learner::CreateAugmenter(arguments.augmentation, views));
  ASSIGN_OR_RETURN(const auto trainer, nn::SelfSupervisedTrainer::Create(OptionsOf(arguments, set.shape()),
                                                                         std::move(augmenter)));
  ASSIGN_OR_RETURN(const auto part, PartOf(set, arguments));
  const std::size_t batch = arguments.options.batch;
  if (arguments.buffer > 0 && (batch % 2 != 0 || arguments.buffer < batch / 2)) {
    return UsageError("--buffer needs an even --batch and room for half of one");
  }
  images::ImageStream stream(set, part, arguments.buffer > 0 ? batch / 2 : batch, arguments.options.seed);
  std::optional<images::ImageRehearsal> rehearsal;
  if (arguments.buffer > 0) rehearsal.emplace(stream, arguments.buffer, arguments.options.seed);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed_s = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  nn::SelfSupervisedTrainer::StepResult last{};
  const std::uint64_t report_every = std::max<std::uint64_t>(arguments.steps / 10, 1);
  for (std::uint64_t step = 0; step < arguments.steps; ++step) {
    last = trainer->Step(rehearsal ? rehearsal->Batch(step) : stream.Batch(step));
    if (rehearsal) rehearsal->Score(trainer->novelty());
    if ((step + 1) % report_every == 0) {
      std::cerr << fmt::format("step {}/{}  loss {:6.3f}  spread {:.2f}  {:.0f} s\n", step + 1,
                               arguments.steps, last.loss, last.spread, elapsed_s());
    }
  }
  const double seconds = elapsed_s();
  // The encoder will see images, not views; of many, a part says enough.
  std::vector<std::uint8_t> seen;
  const std::size_t enough = std::min<std::size_t>(part.size(), 4096) * set.image_size();
  for (std::uint64_t b = 0; seen.size() < enough; ++b) {
    const std::span<const std::uint8_t> images = stream.Batch(b);
    seen.insert(seen.end(), images.begin(), images.end());
  }
  trainer->CalibrateStatistics(seen);
  RETURN_IF_ERROR(WriteOutput(arguments.out, nn::EncodeEncoder(*trainer)));

  nlohmann::ordered_json figures = {{"model", arguments.out},   {"images", part.size()},
                                    {"steps", arguments.steps}, {"seconds", seconds},
                                    {"loss", last.loss},        {"spread", last.spread}};
  ASSIGN_OR_RETURN(const nn::LabelFreeEvaluation quality, nn::EvaluateWithoutLabels(*trainer, seen));
  figures["label_free"] = {{"retrieval", quality.retrieval},
                           {"alignment", quality.alignment},
                           {"uniformity", quality.uniformity},
                           {"rank", quality.rank}};
  const bool judged = !arguments.test_images.empty() || arguments.images == "glyphs";
  if (judged) {
    ASSIGN_OR_RETURN(const auto test,
                     images::ReadImages({arguments.test_images.empty() ? "glyphs" : arguments.test_images,
                                         arguments.test_labels, fitted},
                                        images::ImageUse::kTest));
    ASSIGN_OR_RETURN(const auto judgement, JudgeEncoder(*trainer, set, test));
    figures.update(ToJson(judgement));
    if (!arguments.json) PrintJudgement(judgement);
  }
  if (arguments.json) {
    std::cout << figures.dump() << "\n";
  } else {
    std::cout << fmt::format(
        "without labels   retrieval {:6.2f} %   alignment {:.2f}   uniformity {:.2f}   rank {:.1f} of {}\n",
        100 * quality.retrieval, quality.alignment, quality.uniformity, quality.rank,
        trainer->options().encoder.feature_count());
    std::cout << fmt::format("{}: {} on {} in {:.0f} s\n", runtime::Printable(arguments.out),
                             runtime::Counted(arguments.steps, "step"),
                             runtime::Counted(part.size(), "image"), seconds);
  }
  return absl::OkStatus();
}

std::string ReadChannels(const std::string& text, std::vector<std::size_t>& channels) {
  std::vector<std::size_t> read;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ','))) {
    if (!absl::SimpleAtoi(word, &read.emplace_back())) {
      return NotAllowed(text, "whole numbers with commas between them");
    }
  }
  channels = std::move(read);
  return "";
}

}  // namespace

void AddTrainSelfSupervisedCommand(Commands& train) {
  auto [command, arguments] = train.Add<TrainSelfSupervisedArguments>(
      "self_supervised", "Train an encoder on images without labels", Train);
  nn::SelfSupervisedOptions& options = arguments.options;
  command.Text(
      "--images", arguments.images, "glyphs|FILE|FOLDER",
      "Images to train on: an idx or idx.gz file, a folder of PNG and JPEG files (in one folder for each "
      "class, if labelled), or \"glyphs\" (built in, drawn)");
  command.Text("--labels", arguments.labels, "FILE", "Labels; used only to judge the encoder and to split");
  command.Text("--test-labels", arguments.test_labels, "FILE", "Labels of the test images");
  command.Text("--test-images", arguments.test_images, "glyphs|FILE|FOLDER",
               "Judge the encoder on these afterwards");
  command.Number("--image-side", arguments.image_side, "N",
                 "Pixels: the square in the middle of each picture of a folder is scaled to this",
                 {static_cast<std::int64_t>(nn::kImageSideLimit.least),
                  static_cast<std::int64_t>(nn::kImageSideLimit.most)});
  command.Flag("--colour", arguments.colour, "The pictures of a folder keep their colour");
  command.Text("--out", arguments.out, "FILE", "Encoder file to write");
  command.Choice("--method", options.method,
                 {{"simclr", nn::SelfSupervisedMethod::kSimClr},
                  {"simsiam", nn::SelfSupervisedMethod::kSimSiam},
                  {"byol", nn::SelfSupervisedMethod::kByol}},
                 "Method of self-supervised learning");
  command.Choice("--norm", options.encoder.norm,
                 {{"batch", nn::EncoderNorm::kBatch},
                  {"filter_response", nn::EncoderNorm::kFilterResponse},
                  {"none", nn::EncoderNorm::kNone}},
                 "Normalisation in the encoder");
  command.Flag("--quantised", options.encoder.quantised,
               "8-bit weights and activations, as the tensor unit computes; without norm");
  command
      .Value("--channels", "N,N,…", "Channels of each stage", absl::StrJoin(options.encoder.channels, ","),
             [&options](const std::string& text) { return ReadChannels(text, options.encoder.channels); })
      ->expected(1, 16);
  command.Number("--grid", options.encoder.grid, "N", "Features: means of grid x grid areas");
  command.Choice("--augmentation", arguments.augmentation,
                 {{"strong", "strong"}, {"continuous", "continuous"}, {"table", "table"}},
                 "Views that differ in crop and light; by blur and angle; or from the FPGA kernel's tables "
                 "(computed on the processor)");
  nn::StrongAugmentationOptions& views = arguments.views;
  command.Number("--crop", views.crop, "SHARE", "Strong views: largest part of the area that is left out");
  command.Number("--rotation", views.rotation_deg, "DEGREES", "Strong views: largest angle, either way");
  command.Number("--brightness", views.brightness, "SHARE", "Strong views: largest shift, in parts of white");
  command.Number("--contrast", views.contrast, "X", "Strong views: a factor from 1 / (1 + X) to 1 + X");
  command.Number("--blur", views.blur, "P", "Strong views: probability of blur");
  command.Number("--cut-out", views.cut_out, "SHARE",
                 "Strong views: largest side of a square without image, in parts of the side");
  command.Number("--flip", views.flip, "P",
                 "Strong views: probability of left for right; only if a mirrored image means the same");
  command.Number("--saturation", views.saturation, "X",
                 "Strong views of colour images: a factor from 1 / (1 + X) to 1 + X");
  command.Number("--hue", views.hue_deg, "DEGREES",
                 "Strong views of colour images: largest turn of the colours, either way");
  command.Number("--grey", views.grey, "P",
                 "Strong views of colour images: probability of one without colour");
  command.Number(
      "--buffer", arguments.buffer, "N",
      "Keep only the N most novel images; half of each batch is new, half of these (0 = keep all)");
  command.Number("--steps", arguments.steps, "N", "Number of training steps", {1, 100'000'000});
  command.Number("--temperature", options.temperature, "T", "Method simclr: of the softmax over the cosines");
  command.Number("--batch", options.batch, "N", "Images per training step");
  command.Number("--learning-rate", options.learning_rate, "RATE", "Learning rate for a batch of 256");
  command.Choice("--split", arguments.split.kind,
                 {{"iid", images::ImageSplit::kIid},
                  {"shard", images::ImageSplit::kShard},
                  {"dirichlet", images::ImageSplit::kDirichlet}},
                 "Train on one part of the set, as a node of a run would");
  command.Number("--alpha", arguments.split.concentration, "ALPHA", "Concentration of a Dirichlet split");
  command.Number("--shards", arguments.split.nodes, "N", "Parts of the split");
  command.Number("--shard-index", arguments.part, "N", "The part to train on, from 0");
  command.Number("--split-seed", arguments.split.seed, "N", "Seed of the split");
  command.Number("--seed", options.seed, "N", "Equal seeds give equal encoders on equal processors");
  command.Json(arguments.json);
  command.Examples(
      "Examples:\n"
      "  tributary train self_supervised --steps 1000\n"
      "  tributary train self_supervised --images train-images-idx3-ubyte.gz --shards 4 --shard-index 0   "
      "what one of "
      "four nodes would learn alone\n"
      "  tributary train self_supervised --images pictures/ --image-side 32 --colour");
}

}  // namespace tributary::cli
