// Writes the generated pages, and the golden text of the fields, into a source tree.
#include <cstdio>
#include <fstream>
#include <string>

#include "frozen_fields.h"
#include "measurements_page.h"
#include "message_page.h"
#include "spec/trial/param_reference.h"
#include "sweeps_page.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: inlier_write_reference SOURCE_FOLDER\n");
    return 2;
  }
  const std::string root = argv[1];
  std::ofstream parameters(root + "/docs/reference/parameters.md");
  parameters << inlier::ParamsMarkdown();
  std::ofstream measurements(root + "/docs/reference/measurements.md");
  measurements << inlier::MeasurementsMarkdown();
  std::ofstream frozen(root + "/tests/spec/frozen_fields.txt");
  frozen << inlier::FrozenFields();
  std::ofstream sweeps(root + "/docs/reference/sweeps.md");
  sweeps << inlier::SweepsMarkdown(root);
  std::ofstream sweep_file(root + "/docs/reference/sweep.md");
  sweep_file << inlier::SweepFileMarkdown();
  std::ofstream configuration(root + "/docs/reference/configuration.md");
  configuration << inlier::ConfigurationMarkdown();
  if (!sweep_file.good() || !configuration.good()) return 1;
  return parameters.good() && measurements.good() && frozen.good() && sweeps.good() ? 0 : 1;
}
