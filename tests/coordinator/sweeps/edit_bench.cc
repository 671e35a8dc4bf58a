// How long an edit of a sweep of 1,000,000 points takes: checked, decided and committed. Run by hand.
#include <chrono>
#include <cstdio>

#include "spec/sweep/sweep_reader.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

double MsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

v1::SweepSpec Million() {
  std::vector<double> values;
  for (int i = 1; i <= 1000; ++i) values.push_back(i);
  v1::SweepSpec spec = SmallSweep("million", 0, {});
  spec.clear_axes();
  *spec.add_axes() = NumberAxis("training.batch_size", values);
  *spec.add_axes() = NumberAxis("seed", values);
  return spec;
}

void Measure(const char* what, std::uint64_t made, const v1::SweepSpec& to) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = made;
  options.expand_ahead = made;
  Harness harness(options);
  harness.SkipInvariants();
  const auto submitted = harness.TrySubmit(Million(), "", SweepGrid::kSizeMax);
  if (!submitted.ok()) return;
  v1::EditSweepRequest request;
  request.set_sweep("s-1");
  *request.mutable_spec() = to;
  request.set_max_trials(SweepGrid::kSizeMax);
  auto begin = std::chrono::steady_clock::now();
  auto grid = CheckedGrid(to);
  const bool valid = grid.ok();
  const double checked = MsSince(begin);
  begin = std::chrono::steady_clock::now();
  Effects effects;
  const auto response = harness.orchestrator().OnEdit(request, harness.now(), effects, *std::move(grid));
  const double decided = MsSince(begin);
  const std::size_t rows = effects.changes.rows();
  begin = std::chrono::steady_clock::now();
  harness.Commit(std::move(effects));
  const double committed = MsSince(begin);
  std::printf("%-28s %6llu made  check %7.2f ms  decide %7.2f ms  commit %7.2f ms (%zu rows)  %s %s\n", what,
              static_cast<unsigned long long>(made), checked, decided, committed, rows,
              valid ? "" : "INVALID",
              response.ok() ? response->ShortDebugString().c_str() : response.status().ToString().c_str());
}

void MeasureAll() {
  for (const std::uint64_t made : {1024, 20000}) {
    v1::SweepSpec to = Million();
    to.set_priority(3);
    Measure("priority", made, to);
    to = Million();
    to.mutable_axes(0)->add_values()->set_number_value(1001);
    Measure("value at the end", made, to);
    to = Million();
    to.mutable_axes(1)->add_values()->set_number_value(1001);
    Measure("seed more", made, to);
    to = Million();
    to.mutable_axes(1)->mutable_values()->DeleteSubrange(0, 1);
    Measure("seed less", made, to);
  }
}

}  // namespace
}  // namespace inlier

int main() { inlier::MeasureAll(); }
