// LrSchedule: the learning rate of every update of a training. Plain numbers; no state, no tensors.
//
// Update k counts from 0. With `warmup` W > 0 the rate grows from 0 (update 0 has rate 0) to the peak at
// update W. Afterwards it is constant, or falls linearly to 0 at update `total`, or along half a cosine to
// final_fraction of the peak there. Reference: run_clm.py / run_mlm.py of Bondarenko et al. 2023, and the
// schedules of Hugging Face's transformers.
#ifndef INLIER_CORE_OPTIM_LR_SCHEDULE_H_
#define INLIER_CORE_OPTIM_LR_SCHEDULE_H_

#include <cstdint>

#include "inlier/v1/training_spec.pb.h"

namespace inlier {

struct LrSchedule {
  enum class Decay { kConstant, kLinear, kCosine };

  Decay decay;
  double peak;
  std::int64_t warmup;        // W, updates.
  std::int64_t total;         // S, updates; the end of the decay.
  double final_fraction = 0;  // Of the peak, at S; of the cosine alone.

  // The rate of update `k`. After S the linear schedule stays 0 and the cosine rises again.
  // REQUIRES: k >= 0.
  double At(std::int64_t k) const;
};

// The schedule of a training of `steps` updates. A linear schedule with final_fraction e > 0 is stretched as
// the reference stretches it: with w = W / S and a = 1 / (1 - (1 - w) e) it is built with int(a W) and int(a
// S) in place of W and S, so that the rate is about e * peak at update S (exactly so only where a W and a S
// are whole). e = 1 keeps the peak after the warm-up. The cosine has its final fraction exactly, unstretched.
LrSchedule MakeLrSchedule(const v1::ScheduleSpec& spec, double peak, std::int64_t steps);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_LR_SCHEDULE_H_
