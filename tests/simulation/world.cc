#include "tests/simulation/world.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"

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
}

World::World(std::uint64_t seed) : random_(seed), plan_(random_) {}

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
