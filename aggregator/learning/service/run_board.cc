#include "aggregator/learning/service/run_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::learning {

absl::Status NoSuchRun(std::string_view run) {
  return absl::NotFoundError(
      fmt::format("run: there is no run \"{}\"; \"tributary run list\" shows those there are", run));
}

void RunBoard::Publish(RunRecord record, ChangedParticipants changed) {
  auto shared = std::make_shared<const RunRecord>(std::move(record));
  const std::string run = shared->run.name();
  std::vector<std::shared_ptr<Listener>> listeners;
  {
    const runtime::MutexLock lock(mutex_);
    const auto [entry, added] = entries_.try_emplace(shared->run.name());
    if (added) order_.push_back(entry->first);
    entry->second.record = std::move(shared);
    auto& nodes = entry->second.nodes;
    if (changed.everyone) nodes.clear();
    for (const std::string& name : changed.forgotten) nodes.erase(name);
    for (v1::Participant& each : changed.nodes) {
      std::string name = each.node();
      nodes.insert_or_assign(std::move(name), std::move(each));
    }
    listeners = Listeners();
  }
  for (const auto& listener : listeners) listener->OnChange(run);
}

void RunBoard::Remove(const std::string& run) {
  std::vector<std::shared_ptr<Listener>> listeners;
  {
    const runtime::MutexLock lock(mutex_);
    entries_.erase(run);
    std::erase(order_, run);
    listeners = Listeners();
  }
  for (const auto& listener : listeners) listener->OnChange(run);
}

std::vector<std::shared_ptr<RunBoard::Listener>> RunBoard::Listeners() {
  std::erase_if(listeners_, [](const auto& listener) { return listener.expired(); });
  std::vector<std::shared_ptr<Listener>> listeners;
  for (const auto& each : listeners_) {
    if (auto listener = each.lock()) listeners.push_back(std::move(listener));
  }
  return listeners;
}

RunBoard::Records RunBoard::Runs() const {
  const runtime::MutexLock lock(mutex_);
  Records records;
  for (const std::string& name : order_) records.push_back(entries_.find(name)->second.record);
  return records;
}

std::uint32_t RunBoard::Room() const {
  const runtime::MutexLock lock(mutex_);
  const auto active = static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const auto& entry) { return !entry.second.record->ended(); }));
  return static_cast<std::uint32_t>(most_active_ - std::min(most_active_, active));
}

std::shared_ptr<const RunRecord> RunBoard::Find(std::string_view name) const {
  const runtime::MutexLock lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second.record;
}

std::vector<v1::Participant> RunBoard::Nodes(std::string_view run, std::string_view after,
                                             std::size_t count) const {
  const runtime::MutexLock lock(mutex_);
  std::vector<v1::Participant> page;
  const auto found = entries_.find(run);
  if (found == entries_.end()) return page;
  const auto& nodes = found->second.nodes;
  for (auto node = nodes.upper_bound(after); node != nodes.end() && page.size() < count; ++node) {
    page.push_back(node->second);
  }
  return page;
}

void RunBoard::Add(std::weak_ptr<Listener> listener) {
  const runtime::MutexLock lock(mutex_);
  listeners_.push_back(std::move(listener));
}

}  // namespace tributary::learning
