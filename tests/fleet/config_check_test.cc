#include "fleet/config_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fleet/fleet_config.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

TEST(FleetConfigCheckTest, TakesWhatSlurmTakes) {
  v1::FleetConfig config = SmallFleet();
  v1::SlurmConfig& slurm = *config.mutable_slurm();
  slurm.set_partition("gpu,long");
  slurm.set_account("proj_1.sub");
  slurm.set_qos("high");
  slurm.set_gres("gpu:h100:2");
  slurm.set_constraint("[rack1*2&rack2*4]|fast");
  slurm.add_options("--exclusive");
  slurm.add_options("--export=ALL,LD_LIBRARY_PATH=/opt/cuda/lib64");
  slurm.set_output_folder("/scratch/out");
  config.add_worker_set("threads_per_slot=4");
  EXPECT_TRUE(CheckFleetConfig(config).ok()) << CheckFleetConfig(config);
}

TEST(FleetConfigCheckTest, AJobRunsUntilTheNotice) {
  v1::FleetConfig config = SmallFleet();
  config.mutable_slurm()->set_time_limit_minutes(60);
  config.mutable_slurm()->set_notice_seconds(100);
  EXPECT_EQ(JobSeconds(config), 3500u);
}

// Each with a part of the error.
TEST(FleetConfigCheckTest, RefusesWithTheFieldAndTheRemedy) {
  using Change = std::function<void(v1::FleetConfig&)>;
  const std::vector<std::pair<Change, const char*>> cases = {
      {[](auto& config) { config.clear_engine(); }, "slurm"},
      {[](auto& config) { config.clear_maximum(); }, "fleet.maximum"},
      {[](auto& config) { config.set_maximum(0); }, "fleet.maximum"},
      {[](auto& config) { config.set_minimum(9); }, "fleet.minimum: 9 is above the maximum of 8"},
      {[](auto& config) { config.set_worker_config("worker.yaml"); }, "fleet.worker_config: 'worker.yaml'"},
      {[](auto& config) { config.set_worker_program("inlier-worker"); }, "fleet.worker_program"},
      {[](auto& config) { config.set_worker_program("/opt/inlier\nworker"); }, "fleet.worker_program"},
      {[](auto& config) { config.set_worker_config("/shared/\xff.yaml"); },
       "fleet.worker_config: the text is not UTF-8"},
      {[](auto& config) { config.add_worker_set("slots"); }, "fleet.worker_set: 'slots' is not of the form"},
      {[](auto& config) { config.mutable_slurm()->set_partition("gpu; rm -rf /"); }, "fleet.slurm.partition"},
      {[](auto& config) { config.mutable_slurm()->set_account("$(id)"); }, "fleet.slurm.account"},
      {[](auto& config) { config.mutable_slurm()->set_qos("--wrap"); }, "fleet.slurm.qos"},
      {[](auto& config) { config.mutable_slurm()->set_gres("gpu:1\n"); }, "fleet.slurm.gres"},
      {[](auto& config) { config.mutable_slurm()->set_constraint("a b"); }, "fleet.slurm.constraint"},
      {[](auto& config) { config.mutable_slurm()->add_options("exclusive"); }, "is not an option of sbatch"},
      {[](auto& config) { config.mutable_slurm()->add_options("--job-name=x"); }, "is set by the fleet"},
      {[](auto& config) { config.mutable_slurm()->add_options("--job-n=x"); }, "is set by the fleet"},
      {[](auto& config) { config.mutable_slurm()->add_options("--wrap=id"); }, "is set by the fleet"},
      {[](auto& config) { config.mutable_slurm()->set_time_limit_minutes(2); },
       "fleet.slurm.time_limit_minutes"},
      {[](auto& config) { config.mutable_slurm()->set_output_folder("/out/%j"); }, "has a %"},
      {[](auto& config) { config.mutable_slurm()->set_conf("slurm.conf"); }, "must be an absolute path"},
  };
  for (const auto& [change, error] : cases) {
    v1::FleetConfig config = SmallFleet();
    change(config);
    EXPECT_THAT(CheckFleetConfig(config), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)))
        << error;
  }
}

}  // namespace
}  // namespace inlier
