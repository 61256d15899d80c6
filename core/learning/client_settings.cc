#include "core/learning/client_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace tributary::learning {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;
using Settings = v1::ClientSettings;

// All that an unsigned field holds.
constexpr nn::TrainingLimit kSeedLimit = {0, 0x1p64};
constexpr nn::StrongAugmentationOptions kViews;

const FieldDescriptor* Field(int number) { return Settings::descriptor()->FindFieldByNumber(number); }

// Workloads that learn from views of images.
std::vector<std::string_view> Views() { return {kSelfSupervised, kClassifier}; }

std::vector<ClientSetting> MakeTable() {
  return {
      {.field = Field(Settings::kWorkloadFieldNumber),
       .choices = {kSelfSupervised, kExternal, kBeacon, kClassifier, kModulation, kPositioning},
       .help = "what nodes train; external: a program of yours beside each node; beacon: a network from "
               "ranges to a position; modulation: from bursts to modulations; positioning: from a panel's "
               "snapshots to a position; these four need model; classifier: an encoder with a head, from "
               "labels"},
      {.field = Field(Settings::kTrainerFieldNumber),
       .workloads = {kExternal},
       .help = "the name that this program gives itself"},
      {.field = Field(Settings::kHeadFieldNumber),
       .choices = {"shared", "adjusted", "personal"},
       .workloads = {kClassifier},
       .earlier = "shared",
       .help =
           "adjusted: each node shifts the logits by how often it meets each class; personal: the same, and "
           "the head is drawn from the seed in each node: nobody trains or sends it"},
      {.field = Field(Settings::kLocalStepsFieldNumber),
       .limit = nn::kLocalStepsLimit,
       .default_value = 50,
       .help = "steps of a node in a round; beacon: epochs of Levenberg-Marquardt"},
      {.field = Field(Settings::kBatchFieldNumber),
       .limit = nn::kBatchLimit,
       .default_value = 32,
       .help = "samples of a step"},
      {.field = Field(Settings::kLearningRateFieldNumber),
       .limit = nn::kLearningRateLimit,
       .default_value = 3.2,
       .help = "above 0; for a batch of 256, scaled by batch / 256"},
      {.field = Field(Settings::kMomentumFieldNumber),
       .limit = nn::kMomentumLimit,
       .default_value = 0.9,
       .help = "of the node's gradient descent"},
      {.field = Field(Settings::kWeightDecayFieldNumber),
       .limit = nn::kWeightDecayLimit,
       .default_value = 5e-4,
       .help = "weight of ½ ‖w‖² in the loss"},
      {.field = Field(Settings::kProximalMuFieldNumber),
       .limit = nn::kProximalLimit,
       .help = "fedprox: weight of ½ ‖w − w_g‖² in the loss; 0: none"},
      {.field = Field(Settings::kEmaLambdaFieldNumber),
       .limit = nn::kEmaLambdaLimit,
       .workloads = {kSelfSupervised},
       .help = "fedema: w ← m w_k + (1 − m) w_g with m = min(lambda ‖w_g − w_k‖, 1); 0: none"},
      {.field = Field(Settings::kEncodingFieldNumber),
       .choices = {"float32", "float16", "int8", "int12", "topk"},
       .help = "of the update; the node adds what the encoding lost to its next update"},
      {.field = Field(Settings::kSeedFieldNumber),
       .limit = kSeedLimit,
       .default_value = 1,
       .help = "of augmentation and order; each node mixes in its name and the round"},
      {.field = Field(Settings::kMethodFieldNumber),
       .choices = {"simclr", "simsiam", "byol"},
       .workloads = {kSelfSupervised},
       .earlier = "simsiam",
       .help = "of self-supervised learning"},
      {.field = Field(Settings::kAugmentationFieldNumber),
       .choices = {"strong", "continuous", "table"},
       .workloads = Views(),
       .earlier = "continuous",
       .former = "hardware",
       .renamed = "\"hardware\" is now called \"table\"; the processor computes these views",
       .help =
           "continuous: blur, rotation and crop with black borders; table: the views of the FPGA kernel's "
           "tables, for grey images of 28 x 28"},
      {.field = Field(Settings::kTargetDecayFieldNumber),
       .limit = nn::kTargetDecayLimit,
       .default_value = 0.996,
       .workloads = {kSelfSupervised},
       .help = "byol: share of the target network that a step keeps, at step 0"},
      {.field = Field(Settings::kTemperatureFieldNumber),
       .limit = nn::kTemperatureLimit,
       .default_value = nn::SelfSupervisedOptions().temperature,
       .workloads = {kSelfSupervised},
       .help = "simclr: of the softmax over the cosines of views; above 0"},
      {.field = Field(Settings::kCropFieldNumber),
       .limit = nn::kCropLimit,
       .default_value = kViews.crop,
       .workloads = Views(),
       .help = "strong: largest part of the image's area that a view leaves out"},
      {.field = Field(Settings::kRotationDegFieldNumber),
       .limit = nn::kRotationLimit,
       .default_value = kViews.rotation_deg,
       .workloads = Views(),
       .help = "strong: largest angle, either way"},
      {.field = Field(Settings::kBrightnessFieldNumber),
       .limit = nn::kBrightnessLimit,
       .default_value = kViews.brightness,
       .workloads = Views(),
       .help = "strong: largest shift, in parts of white"},
      {.field = Field(Settings::kContrastFieldNumber),
       .limit = nn::kContrastLimit,
       .default_value = kViews.contrast,
       .workloads = Views(),
       .help = "strong: a factor from 1 / (1 + contrast) to 1 + contrast"},
      {.field = Field(Settings::kBlurFieldNumber),
       .limit = nn::kProbabilityLimit,
       .default_value = kViews.blur,
       .workloads = Views(),
       .help = "strong: probability"},
      {.field = Field(Settings::kCutOutFieldNumber),
       .limit = nn::kCutOutLimit,
       .default_value = kViews.cut_out,
       .workloads = Views(),
       .help = "strong: largest side of a square without image, in parts of the side"},
      {.field = Field(Settings::kFlipFieldNumber),
       .limit = nn::kProbabilityLimit,
       .default_value = kViews.flip,
       .workloads = Views(),
       .help = "strong: probability of left for right; only if a mirrored image means the same"},
      {.field = Field(Settings::kSaturationFieldNumber),
       .limit = nn::kSaturationLimit,
       .default_value = kViews.saturation,
       .workloads = Views(),
       .help = "strong, colour images: a factor from 1 / (1 + saturation) to 1 + saturation"},
      {.field = Field(Settings::kHueDegFieldNumber),
       .limit = nn::kHueLimit,
       .default_value = kViews.hue_deg,
       .workloads = Views(),
       .help = "strong, colour images: largest turn of the colours, either way"},
      {.field = Field(Settings::kGreyFieldNumber),
       .limit = nn::kProbabilityLimit,
       .default_value = kViews.grey,
       .workloads = Views(),
       .help = "strong, colour images: probability of a view without colour"},
  };
}

bool IsNumber(const FieldDescriptor& field) {
  return field.cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
         field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM;
}

// A free text.
bool IsName(const ClientSetting& setting) {
  return setting.choices.empty() && setting.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

// As protobuf's text format has the value.
std::string TextOf(const Settings& settings, const FieldDescriptor& field) {
  std::string text;
  TextFormat::PrintFieldValueToString(settings, &field, -1, &text);
  return text;
}

void SetText(const std::string& text, const FieldDescriptor& field, Settings& settings) {
  TextFormat::ParseFieldValueFromString(text, &field, &settings);
}

double NumberOf(const Settings& settings, const FieldDescriptor& field) {
  double number = 0;
  return absl::SimpleAtod(TextOf(settings, field), &number) ? number : std::nan("");
}

// UPDATE_ENCODING_INT8 is "int8".
std::string ChoiceOf(const Settings& settings, const FieldDescriptor& field) {
  if (field.enum_type() == nullptr) return settings.GetReflection()->GetString(settings, &field);
  const std::string name = TextOf(settings, field);
  return absl::AsciiStrToLower(name.substr(name.rfind('_') + 1));
}

void SetChoice(std::string_view choice, const FieldDescriptor& field, Settings& settings) {
  if (field.enum_type() == nullptr) return SetText(fmt::format("\"{}\"", choice), field, settings);
  const std::string& any = field.enum_type()->value(0)->name();
  SetText(any.substr(0, any.rfind('_') + 1) + absl::AsciiStrToUpper(std::string(choice)), field, settings);
}

void Check(const Settings& settings, const ClientSetting& setting, ClientLimits limits, Faults& faults) {
  const FieldDescriptor& field = *setting.field;
  if (IsName(setting)) {
    return faults.Check(IsPlainName(ChoiceOf(settings, field)), field.name(),
                        "must be at most 64 letters, digits, '-', '_' or '.'");
  }
  if (!IsNumber(field)) {
    return faults.Check(std::ranges::count(setting.choices, ChoiceOf(settings, field)) > 0, field.name(),
                        fmt::format("must be {}", fmt::join(setting.choices, " or ")));
  }
  const double value = NumberOf(settings, field);
  nn::TrainingLimit limit = setting.limit;
  if (IsStored(limits)) limit.most = std::numeric_limits<double>::max();
  faults.Check(limit.Admits(value), field.name(), limit.Refusal("", value).substr(1));
}

config::RealLimits RealsWithin(const nn::TrainingLimit& limit, ClientLimits limits) {
  if (IsStored(limits)) return {0, std::numeric_limits<double>::max()};
  return {limit.least, limit.most};
}

void Read(const config::ConfigSection& section, const ClientSetting& setting, ClientLimits limits,
          Settings& settings) {
  const FieldDescriptor& field = *setting.field;
  const std::string& key = field.name();
  // A stored run says every field; an empty name or the first choice says nothing.
  const std::string_view nothing = setting.choices.empty() ? "" : setting.choices.front();
  if (!IsStored(limits) && !setting.workloads.empty() && section.Has(key) && !section.Is(key, nothing) &&
      std::ranges::count(setting.workloads, settings.workload()) == 0) {
    section.Fault(key,
                  fmt::format("only workload = \"{}\" has it", fmt::join(setting.workloads, "\" or \"")));
  }
  if (IsName(setting)) {
    std::string name;
    section.Read(key, name, setting.help);
    settings.GetReflection()->SetString(&settings, &field, std::move(name));
  } else if (!IsNumber(field)) {
    const bool earlier = limits == ClientLimits::kStoredEarlier && !setting.earlier.empty();
    std::string choice(earlier ? setting.earlier : setting.choices.front());
    if (!setting.former.empty() && section.Is(key, setting.former)) {
      std::string former;
      section.Read(key, former, setting.help);
      section.Fault(key, setting.renamed);
    } else {
      section.Choose(key, choice, setting.choices, setting.help);
    }
    SetChoice(choice, field, settings);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    double number = setting.default_value;
    section.Read(key, number, RealsWithin(setting.limit, limits), setting.help);
    SetText(fmt::format("{}", number), field, settings);
  } else {
    auto number = static_cast<std::int64_t>(setting.default_value);
    section.Read(key, number, IntegersWithin(setting.limit, limits), setting.help);
    SetText(fmt::format("{}", number), field, settings);
  }
}

}  // namespace

bool IsPlainName(std::string_view name) {
  return name.size() <= kMostPlainName && std::ranges::all_of(name, [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
         });
}

std::span<const ClientSetting> ClientSettingTable() {
  static const std::vector<ClientSetting>& table = *new std::vector<ClientSetting>(MakeTable());
  return table;
}

const ClientSetting& ClipNormSetting() {
  static const ClientSetting& setting =
      *new ClientSetting{.field = Field(Settings::kClipNormFieldNumber),
                         .limit = nn::kClipNormLimit,
                         .help = "updates are scaled down to this L2 norm by node and aggregator; 0: off"};
  return setting;
}

Settings DefaultClientSettings() {
  static const Settings& settings = *new Settings(
      ReadClientSettings(config::ConfigFile::Parse("", "")->Root(), 0, ClientLimits::kTraining));
  return settings;
}

Faults FaultsOf(const Settings& settings, ClientLimits limits) {
  Faults faults;
  const auto check = [&](const ClientSetting& setting) { Check(settings, setting, limits, faults); };
  std::ranges::for_each(ClientSettingTable(), check);
  check(ClipNormSetting());
  return faults;
}

absl::Status AdoptFromTask(Settings& settings, bool masked) {
  settings.DiscardUnknownFields();  // what a restart would not find in the store
  for (const ClientSetting& setting : ClientSettingTable()) {
    if (!setting.earlier.empty() && ChoiceOf(settings, *setting.field).empty()) {
      SetChoice(setting.earlier, *setting.field, settings);
    }
  }
  Settings plain = settings;
  if (masked) {
    if (settings.encoding() != v1::UPDATE_ENCODING_FIXED32) {
      return absl::InvalidArgumentError("settings.encoding must be fixed32 for a masked update");
    }
    plain.set_encoding(v1::UPDATE_ENCODING_FLOAT32);
  }
  const Faults faults = FaultsOf(plain, ClientLimits::kTraining);
  if (faults.begin() == faults.end()) return absl::OkStatus();
  const auto& [field, what] = *faults.begin();
  return absl::InvalidArgumentError(fmt::format("settings.{} {}", field, what));
}

Settings ReadClientSettings(const config::ConfigSection& root, std::uint32_t rounds, ClientLimits limits) {
  Settings settings;
  Read(root, ClipNormSetting(), limits, settings);
  const config::ConfigSection section = root.Section("client");
  for (const ClientSetting& setting : ClientSettingTable()) Read(section, setting, limits, settings);
  bool schedule = true;
  section.Read("schedule", schedule, "cosine over the steps of all rounds; false: a constant rate");
  if (schedule) settings.set_schedule_steps(std::uint64_t{rounds} * settings.local_steps());
  return settings;
}

std::string ClientSectionOf(const Settings& settings) {
  std::string text = "[client]\n";
  for (const ClientSetting& setting : ClientSettingTable()) {
    const FieldDescriptor& field = *setting.field;
    text += fmt::format(
        "{} = {}\n", field.name(),
        IsNumber(field) ? TextOf(settings, field) : fmt::format("\"{}\"", ChoiceOf(settings, field)));
  }
  return text + fmt::format("schedule = {}\n", settings.schedule_steps() > 0);
}

// The numbers are the same.
parameters::UpdateEncoding EncodingOf(const Settings& settings) {
  return static_cast<parameters::UpdateEncoding>(settings.encoding());
}

bool HasPersonalHeads(const Settings& settings) { return settings.head() == "personal"; }

bool HasPersonalPriors(const Settings& settings) {
  return !settings.head().empty() && settings.head() != "shared";
}

nn::SelfSupervisedMethod MethodOf(const Settings& settings) {
  if (settings.method() == "byol") return nn::SelfSupervisedMethod::kByol;
  if (settings.method() == "simclr") return nn::SelfSupervisedMethod::kSimClr;
  return nn::SelfSupervisedMethod::kSimSiam;
}

nn::StrongAugmentationOptions StrongViewsOf(const Settings& settings, const nn::ImageShape& image) {
  return {.side = image.side,
          .channels = image.channels,
          .crop = settings.crop(),
          .rotation_deg = settings.rotation_deg(),
          .brightness = settings.brightness(),
          .contrast = settings.contrast(),
          .blur = settings.blur(),
          .cut_out = settings.cut_out(),
          .flip = settings.flip(),
          .saturation = settings.saturation(),
          .hue_deg = settings.hue_deg(),
          .grey = settings.grey()};
}

config::IntegerLimits IntegersWithin(const nn::TrainingLimit& limit, ClientLimits limits) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMostStored = std::numeric_limits<std::int32_t>::max();
  const auto least = static_cast<std::int64_t>(limit.least);
  if (limit.most >= static_cast<double>(kMost)) return {least, kMost};
  return {least, IsStored(limits) ? kMostStored : static_cast<std::int64_t>(limit.most)};
}

}  // namespace tributary::learning
