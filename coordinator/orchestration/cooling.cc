// Orchestrator: what has ended leaves memory (cold_memory.h). A retry or an edit of it makes it warm again.
#include <algorithm>

#include "coordinator/orchestration/orchestrator.h"

namespace inlier {
namespace {

// In one call: a part is written in some ten microseconds.
constexpr std::size_t kPartsAtOnce = 16;

}  // namespace

std::size_t Orchestrator::WriteCold() {
  std::size_t left = kPartsAtOnce;
  left -= sweeps_.WriteCold(left);
  left -= trials_.WriteCold(left, [](const Trial& trial) { return IsTerminal(trial.state); });
  left -= stages_.WriteCold(left, [](const Stage& stage) { return IsTerminal(stage.state) && !stage.ready; });
  left -= trained_.WriteCold(left, [](const Trained&) { return true; });
  return kPartsAtOnce - left;
}

void Orchestrator::MapCold() {
  sweeps_.MapCold();
  trials_.MapCold();
  stages_.MapCold();
  trained_.MapCold();
}

}  // namespace inlier
