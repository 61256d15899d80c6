#include "node/panel/radio_source_config.h"

#include <fmt/format.h>

#include "core/radio/sigmf_meta.h"

namespace tributary::panel {
namespace {

constexpr double kMaxSnrDb = 200;

}  // namespace

source::EmitterSourceOptions ReadEmitters(const config::ConfigSection& source, estimate::SlotLength slot,
                                          double rate_hz, std::int64_t max_subjects) {
  source::EmitterSourceOptions options;
  options.slot = slot;
  options.rate_hz = rate_hz;
  source.Read("subjects", options.subjects, {1, max_subjects}, "emitters; a burst of each takes some 30 µs");
  source.Read(
      "first_subject", options.first_subject, {0, 1 << 30},
      "subject of the first emitter: another range for each panel keeps the panels apart in one site");
  source.Read("receiver", options.receiver, {0, 65'535},
              "picks the channels and the noise: another number for each panel that hears the emitters");
  source.Read("seed", options.emitter.seed, {0},
              "of emitters, channels and noise: the same for all panels that hear the emitters");
  source.Read("frames_per_emission", options.emitter.frames_per_emission, {1, 1 << 30},
              "then an emitter changes its modulation and its signal-to-noise ratio");
  source.Read("lowest_snr_db", options.emitter.lowest_snr_db, {-kMaxSnrDb, kMaxSnrDb}, "uniform from here");
  source.Read("highest_snr_db", options.emitter.highest_snr_db, {-kMaxSnrDb, kMaxSnrDb}, "to here");
  if (options.emitter.lowest_snr_db > options.emitter.highest_snr_db) {
    source.Fault("lowest_snr_db", fmt::format("{} is above highest_snr_db, which is {}",
                                              options.emitter.lowest_snr_db, options.emitter.highest_snr_db));
    options.emitter.highest_snr_db = options.emitter.lowest_snr_db;
  }
  bool foreign = false;
  source.Choose("domain", foreign, {"reference", "foreign"},
                "reference: the rules of RadioML 2016.10a; foreign: another radio and other channels");
  if (foreign) options.burst = radio::ForeignDomain();
  source.Choose("snr", options.burst.snr, {"true", "label"},
                "true: signal over noise, measured after the channel; label: as RadioML 2016.10a labels");
  return options;
}

SigmfConfig ReadSigmf(const config::ConfigSection& source, estimate::SlotLength slot, double rate_hz) {
  SigmfConfig sigmf;
  sigmf.replay.slot = slot;
  sigmf.replay.rate_hz = rate_hz;
  source.ReadFile("file", sigmf.file,
                  config::Required("NAME.sigmf-meta of cf32_le or ci16_le; NAME.sigmf-data is beside it"));
  if (!sigmf.file.empty() && radio::SigmfDataFile(sigmf.file).empty()) {
    source.Fault("file", fmt::format("expected a name that ends with .sigmf-meta, found {}", sigmf.file));
  }
  source.Read("sample_rate_hz", sigmf.sample_rate_hz, {0, 1e12},
              "what the metadata must say: the model's, or eight samples per symbol; 0: any");
  source.Read("loop", sigmf.replay.loop, "true: begin again at the end");
  source.Read("first_subject", sigmf.replay.first_subject, {0, 1 << 30}, "the number of its subject");
  return sigmf;
}

}  // namespace tributary::panel
