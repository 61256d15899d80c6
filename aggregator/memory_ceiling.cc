#include "aggregator/memory_ceiling.h"

#include <fmt/format.h>

#include <algorithm>

#include "aggregator/fusion/engine.h"
#include "aggregator/fusion/slot_ring.h"
#include "aggregator/fusion/source_table.h"
#include "aggregator/learning/service/model_budget.h"
#include "aggregator/publish/fleet.h"
#include "aggregator/publish/watch_queue.h"
#include "aggregator/server/peer_shares.h"
#include "core/estimate/tuple_frame.h"
#include "core/http/http_server.h"
#include "core/wire/node_status.h"

namespace tributary::aggregator {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = kKiB * kKiB;

// Measured on x86-64 with gRPC 1.51 as the growth of resident memory between 100 and 500 of each.
constexpr std::uint64_t kBase = 28 * kMiB;            // after the start with TLS, a store and a site: 26
constexpr std::uint64_t kTlsConnection = 104 * kKiB;  // with its first call 120, a call alone 18
constexpr std::uint64_t kPlainConnection = 44 * kKiB;
// A stream of tasks with 7 kB of metadata, of a node that waits: 29. The largest declaration is kept
// twice: 9.
constexpr std::uint64_t kCall = 40 * kKiB;
// A node with a hello of some sources, and the longest that it may say of itself: each text is a string of
// the heap, with its object and pointer.
constexpr std::uint64_t kNode = 4 * kKiB + wire::kMostStatusTexts * (wire::kMostStatusText + 64);
// The buffer of an HTTP connection. The answer that is being made, as messages and as text.
constexpr std::uint64_t kHttpConnection = 64 * kKiB;  // with TLS as much as gRPC's
constexpr std::uint64_t kHttpAnswer = 8 * kMiB;

std::uint64_t TupleBytes(const fusion::SiteConfig& site) {
  return sizeof(std::uint32_t) + sizeof(float) * site.shape().numbers();
}

// Each slot that the site admits may wait for the last of its sources. A source of several leaves says of
// each tuple which it has: that is a LeafSet for two leaves at most.
std::uint64_t WindowBytes(const fusion::SiteConfig& site) {
  const auto slots = static_cast<std::uint64_t>(fusion::AdmittedSlots(site).value_or(site.window_slots));
  const std::uint64_t frame =
      sizeof(fusion::SlotInput) + site.max_subjects * (TupleBytes(site) + sizeof(fusion::LeafSet) / 2);
  const std::uint64_t priors = fusion::SourceTable::kCapacity * site.classes.size() * sizeof(float);
  return site.window_slots * sizeof(fusion::Slot) + slots * site.leaves.size() * frame + priors;
}

std::uint64_t FusedSlotBytes(const fusion::SiteConfig& site) {
  const std::uint64_t velocity_and_consistency = sizeof(float) * (site.dimension + 1);
  const std::uint64_t leaves = sizeof(std::uint64_t) * fusion::LeafWords(site.leaves.size());
  // Sources may all name other subjects.
  const std::uint64_t subjects = site.max_subjects * site.leaves.size();
  return sizeof(estimate::FusedSlot) + subjects * (TupleBytes(site) + velocity_and_consistency + leaves);
}

// What readers may ask for beside a slot: the tuples of some subjects.
std::uint64_t ContributionBytes(const fusion::SiteConfig& site) {
  const std::uint64_t tuple = sizeof(estimate::SourceTuple) + sizeof(float) * site.shape().numbers();
  return fusion::FusionEngine::kMaxReaders * (sizeof(estimate::SubjectTuples) + site.leaves.size() * tuple);
}

// Slots that wait to be sent, and the one that is held back.
std::uint64_t WatcherBytes(std::uint64_t slot) {
  const std::uint64_t most =
      std::min<std::uint64_t>(publish::WatchQueue::kCapacity * slot, publish::WatchQueue::kMostBytes);
  return std::max(most, slot) + slot;
}

}  // namespace

std::string MiB(std::uint64_t bytes) { return fmt::format("{} MiB", (bytes + kMiB - 1) / kMiB); }

std::vector<MemoryTerm> MemoryTerms(const AggregatorConfig& config) {
  const server::ConnectionLimits& limits = config.connections;
  std::vector<MemoryTerm> terms = {
      {"the process itself", kBase, ""},
      {"connections", limits.connections * (config.tls ? kTlsConnection : kPlainConnection),
       "ingest.max_connections"},
      {"calls that are not over", limits.calls * kCall, "ingest.max_calls"}};
  std::uint64_t windows = 0, slot = 0, contributions = 0;
  for (const SiteSettings& each : config.sites) {
    windows += WindowBytes(each.fusion);
    slot = std::max(slot, FusedSlotBytes(each.fusion));
    contributions += ContributionBytes(each.fusion);
  }
  if (!config.sites.empty()) {
    windows += config.ingest_threads * fusion::kMostFusedAtOnce * slot;
    terms.push_back({"slots that wait", windows,
                     "max_age_s, max_lead_s, max_subjects, sources and classes of each [[site]]"});
    const std::size_t watchers = config.ingest_threads * server::kWatchPlaces;
    terms.push_back({"slots for slow watchers", watchers * WatcherBytes(slot),
                     fmt::format("{} watchers with {} slots or {} KiB each, ingest.threads", watchers,
                                 publish::WatchQueue::kCapacity, publish::WatchQueue::kMostBytes / kKiB)});
    terms.push_back(
        {"contributions for slow watchers",
         fusion::FusionEngine::kMaxReaders * publish::WatchQueue::kCapacity * contributions,
         fmt::format("{} watchers of each site that ask for them", fusion::FusionEngine::kMaxReaders)});
    terms.push_back({"nodes that report", publish::Fleet::kMaxNodes * kNode,
                     fmt::format("{} nodes", publish::Fleet::kMaxNodes)});
  }
  if (config.federation) {
    terms.push_back({"updates under way", learning::kUploadBytes, "fixed"});
    terms.push_back({"models that operators send",
                     learning::kCopiesOfAModel * config.federation->max_model_bytes,
                     "federation.max_model_bytes, three times for the run that starts"});
    terms.push_back({"models that are read", 2 * learning::kOpenModels * learning::kReadChunkBytes,
                     fmt::format("{} readers with two chunks each", learning::kOpenModels)});
  }
  if (!config.http_listen.empty()) {
    const http::HttpLimits http;
    const std::uint64_t connection = http.body_bytes + (config.http_tls ? kTlsConnection : kHttpConnection);
    terms.push_back({"HTTP", http.connections * connection + http.sent_bytes + kHttpAnswer,
                     fmt::format("{} connections, {} of answers", http.connections, MiB(http.sent_bytes))});
  }
  return terms;
}

std::uint64_t SumOf(const std::vector<MemoryTerm>& terms) {
  std::uint64_t sum = 0;
  for (const MemoryTerm& each : terms) sum += each.bytes;
  return sum;
}

std::string MemoryText(const std::vector<MemoryTerm>& terms) {
  std::string text = fmt::format("peers can make it take {} of memory:\n", MiB(SumOf(terms)));
  for (const MemoryTerm& each : terms) {
    text += fmt::format("  {:>9}  {}{}\n", MiB(each.bytes), each.what,
                        each.limits.empty() ? "" : fmt::format(" ({})", each.limits));
  }
  return text;
}

std::optional<std::string> MemoryAdvice(const std::vector<MemoryTerm>& terms, std::uint64_t allowed) {
  const std::uint64_t sum = SumOf(terms);
  if (sum <= allowed) return std::nullopt;
  const auto largest = std::ranges::max_element(
      terms, {}, [](const MemoryTerm& each) { return each.limits.empty() ? 0 : each.bytes; });
  return fmt::format(
      "peers can make it take {} of memory, and it may have {}: raise MemoryMax of its unit to {}M, or lower "
      "limits "
      "(the largest: {} for {}, bounded by {}); --check prints all",
      MiB(sum), MiB(allowed), (sum + kMiB - 1) / kMiB, MiB(largest->bytes), largest->what, largest->limits);
}

}  // namespace tributary::aggregator
