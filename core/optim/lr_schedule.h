// LrSchedule: the learning rate of every update of a training. Plain numbers; no state, no tensors.
//
// Update k counts from 0. With `warmup` W > 0 the rate grows from 0 (update 0 has rate 0) to the peak at
// update W. Afterwards it stays there for `stable` updates, and is constant or falls until update `total`: linearly, as
// 1 - sqrt, or along half a cosine. Reference: run_clm.py / run_mlm.py of Bondarenko et al. 2023, and the schedules of
// Hugging Face's transformers; with a stable part (WSD) Hu et al. 2024 (MiniCPM), section 4.2, and Hägele et al. 2024.
#ifndef INLIER_CORE_OPTIM_LR_SCHEDULE_H_
#define INLIER_CORE_OPTIM_LR_SCHEDULE_H_

#include <cstdint>

#include "inlier/v1/training_spec.pb.h"

namespace inlier {

struct LrSchedule {
  enum class Decay { kConstant, kLinear, kCosine, kOneMinusSqrt };

  Decay decay;
  double peak;
  std::int64_t warmup;        // W, updates.
  std::int64_t total;         // S, updates; the end of the decay.
  double final_fraction = 0;  // Of the peak, at S.
  std::int64_t stable = 0;    // Updates between the warm-up and the decay.

  // The rate of update `k`. After S it stays as it is at S, but the cosine rises again.
  // REQUIRES: k >= 0.
  double At(std::int64_t k) const;
};

// The schedule of a training of `steps` updates. A linear schedule with final_fraction e > 0 is stretched as
// the reference stretches it: with w = W / S and a = 1 / (1 - (1 - w) e) it is built with int(a W) and int(a
// S) in place of W and S, so that the rate is about e * peak at update S (exactly so only where a W and a S
// are whole). e = 1 keeps the peak after the warm-up. The others have their final fraction exactly, unstretched. Where a
// warm-up leaves fewer updates than the decay of WSD has, the decay is those.
LrSchedule MakeLrSchedule(const v1::ScheduleSpec& spec, double peak, std::int64_t steps);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_LR_SCHEDULE_H_
