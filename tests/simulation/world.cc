#include "tests/simulation/world.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace inlier {
namespace {

constexpr std::size_t kHistoryLines = 120;

}  // namespace

FaultPlan::FaultPlan(Random& random) {
  const auto some = [&random](int most) { return random.PerMille(350) ? 0 : 1 + random.Below(most); };
  drop = some(80);
  copy = some(80);
  late = some(60);
  reorder = some(200);
  cut_requests = some(60);
  cut_replies = some(60);
  cut_both = some(60);
  kill = some(80);
  hang = some(60);
  pause = some(60);
  sleep = some(30);
  twin = some(40);
  drain = some(80);
  crash = some(120);
  slow_store = some(80);
  full_store = some(60);
  failing_store = some(40);
  slow_coordinator = some(40);
  wall_jump = some(30);
  people = 250;
  lies = some(60);
  fails = some(120);
  tiny_groups = random.PerMille(400);
  tiny_bulk = random.PerMille(250);
  data = some(60);
}

World::World(std::uint64_t seed)
    : random_(seed), plan_(random_), common_data_(absl::StrFormat("%064x", 0xda7a)) {
  plan_.gangs = seed % 4 == 3;  // Not drawn: the other worlds do not change.
  plan_.jobs = seed % 8 == 0;
  plan_.searches = seed % 16 == 12;
  plan_.removals = seed % 4 == 1;
  plan_.skewed = seed % 2 == 0;
}

void World::Calm() {
  calm_ = true;
  const std::map<std::string, std::string> before = std::exchange(data_, {});
  for (const auto& [machine, digest] : before) {
    if (digest != common_data_) gone_.try_emplace(digest, now_);
  }
}

std::int64_t World::WallSkewMs(const std::string& worker) const {
  constexpr std::int64_t kHourMs = 3'600'000;
  if (!plan_.skewed) return 0;
  int sum = 0;
  for (const char c : worker) sum += c;
  return kHourMs * (sum % 3 - 1);
}

std::string World::DataOn(const std::string& machine) {
  const auto own = data_.find(machine);
  return own == data_.end() ? common_data_ : own->second;
}

void World::ReplaceData(const std::string& machine) {
  std::set<std::string> before = {common_data_};
  for (const auto& [name, digest] : data_) before.insert(digest);
  const std::string fresh = absl::StrFormat("%064x", 0xda7a00000000u + NewMark());
  if (machine.empty()) {
    data_.clear();
    common_data_ = fresh;
  } else {
    data_[machine] = fresh;
  }
  std::set<std::string> after = {common_data_};
  for (const auto& [name, digest] : data_) after.insert(digest);
  for (const std::string& digest : before) {
    if (!after.contains(digest)) gone_.try_emplace(digest, now_);
  }
  Note(absl::StrCat("the data of ", machine.empty() ? "all machines" : machine, " are replaced"));
}

std::optional<Timestamp> World::GoneSince(const std::string& digest) const {
  const auto gone = gone_.find(digest);
  return gone == gone_.end() ? std::nullopt : std::optional(gone->second);
}

void World::At(Timestamp at, std::function<void()> what) {
  due_.push_back({std::max(at, now_), ++numbers_, std::move(what)});
  std::push_heap(due_.begin(), due_.end());
}

bool World::Step() {
  if (due_.empty()) return false;
  std::pop_heap(due_.begin(), due_.end());
  const Due next = std::move(due_.back());
  due_.pop_back();
  now_ = next.at;
  ++steps_;
  next.what();
  return true;
}

void World::Trace(std::string_view bytes) {
  for (const char c : bytes) trace_ = (trace_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
}

void World::Note(std::string line) {
  Trace(line);
  const std::int64_t ns = now_.since_start.count();
  Trace({reinterpret_cast<const char*>(&ns), sizeof(ns)});
  std::string stamped = absl::StrCat(steps_, " ", ns / 1'000'000, "ms ", line);
  if (verbose_) std::printf("%s\n", stamped.c_str());
  history_.push_back(std::move(stamped));
  if (history_.size() > kHistoryLines) history_.pop_front();
}

void World::Violate(std::string what) {
  if (!violation_.empty()) return;
  violation_ = what;
  Note(absl::StrCat("VIOLATION ", what));
}

}  // namespace inlier
