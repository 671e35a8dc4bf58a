#include "cli/terminal/sweep_model.h"

namespace inlier {

void SweepModel::AddLoss(Curve& curve, const v1::Progress& progress) {
  if (progress.phase() != "train" || !progress.has_loss()) return;
  if (!curve.losses.empty() && progress.step() == curve.last_step) return;
  curve.last_step = progress.step();
  if (curve.losses.empty() || curve.pending == curve.per_value) {
    if (curve.losses.size() == kLossesMax) {
      std::deque<double> halved;
      for (std::size_t i = 0; i + 1 < curve.losses.size(); i += 2)
        halved.push_back((curve.losses[i] + curve.losses[i + 1]) / 2);
      curve.losses = std::move(halved);
      curve.per_value *= 2;
    }
    curve.losses.push_back(progress.loss());
    curve.pending = 1;
    return;
  }
  ++curve.pending;
  curve.losses.back() += (progress.loss() - curve.losses.back()) / static_cast<double>(curve.pending);
}

void SweepModel::Take(const v1::SweepUpdate& update, Timestamp now) {
  latest_ = update;
  time_left_.Observe(update.has_seconds_left() ? std::optional<double>(update.seconds_left()) : std::nullopt,
                     now);
  for (const std::string& notice : update.notices()) notices_.Add(notice);
  notices_.TakeAllBut(kReasonsMax);
  latest_.clear_notices();
  std::map<Key, Curve> curves;
  for (const v1::RunningAttempt& attempt : update.running()) {
    const Key key(attempt.stage_id(), attempt.attempt());
    const auto known = curves_.find(key);
    Curve& curve = curves[key];
    if (known != curves_.end()) curve = std::move(known->second);
    AddLoss(curve, attempt.progress());
  }
  curves_ = std::move(curves);
}

const std::deque<double>& SweepModel::LossesOf(const v1::RunningAttempt& attempt) const {
  static const std::deque<double> kNone;
  const auto found = curves_.find({attempt.stage_id(), attempt.attempt()});
  return found == curves_.end() ? kNone : found->second.losses;
}

}  // namespace inlier
