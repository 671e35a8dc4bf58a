// cluster_load: so many workers, in virtual time, under the coordinator's real decisions and database. Prints one JSON object: samples (see
// virtual_cluster.h) before and after the workers connect, and through the run; then the time of a restart.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "CLI/CLI.hpp"
#include "bench/scale/virtual_cluster.h"
#include "spdlog/spdlog.h"

int main(int argc, char** argv) {
  inlier::ClusterOptions options;
  double connect_seconds = 60, minutes = 10;
  int samples = 10;
  CLI::App app("The load of a cluster, in virtual time", "cluster_load");
  app.add_option("--state-dir", options.state_dir, "folder of the database, empty or not there")->required();
  app.add_option("--workers", options.workers, "each with one slot")
      ->capture_default_str()
      ->check(CLI::Range(1, 999'999));
  app.add_option("--train-seconds", options.train_seconds, "of a training, mean")->capture_default_str();
  app.add_option("--evaluate-seconds", options.evaluate_seconds, "of an evaluation, mean")
      ->capture_default_str();
  app.add_option("--points", options.points, "measurements of a training")->capture_default_str();
  app.add_option("--connect-seconds", connect_seconds, "until all workers are connected")
      ->capture_default_str();
  app.add_option("--minutes", minutes, "of work")->capture_default_str();
  app.add_option("--samples", samples, "of these minutes")->capture_default_str()->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  spdlog::set_level(spdlog::level::warn);  // stdout is for the JSON object.

  inlier::VirtualCluster cluster(options);
  nlohmann::json report{{"workers", options.workers}, {"empty", cluster.Sample()}};
  cluster.Connect(connect_seconds);
  report["connected"] = cluster.Sample();
  cluster.Submit();
  for (int i = 0; i < samples; ++i) {
    cluster.Run(60 * minutes / samples);
    report["samples"].push_back(cluster.Sample());
  }
  report["restart_seconds"] = cluster.Restart();
  std::puts(report.dump().c_str());
}
