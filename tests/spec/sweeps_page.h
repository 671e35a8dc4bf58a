// docs/reference/sweeps.md: what sweeps/ holds, from the files themselves.
#ifndef INLIER_TESTS_SPEC_SWEEPS_PAGE_H_
#define INLIER_TESTS_SPEC_SWEEPS_PAGE_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/support/hub.h"

namespace inlier {

// The .yaml files of sweeps/, numbers in their names in order. The models that they name are found from then on.
inline std::vector<std::filesystem::path> SweepFiles(const std::string& root) {
  UseHubOfTests(root);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/sweeps")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  const auto key = [](const std::filesystem::path& file) {
    const std::string stem = file.stem().string();
    const std::size_t digits = stem.find_last_not_of("0123456789") + 1;
    return std::make_pair(stem.substr(0, digits), digits == stem.size() ? 0 : std::stoi(stem.substr(digits)));
  };
  std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return files;
}

// "72 trials: BERT, OPT and ViT, …" of one size; what is wrong when it cannot be read.
inline std::string SweepCell(const std::filesystem::path& file, const std::string& scale) {
  const absl::StatusOr<v1::SweepSpec> sweep = ReadSweepFile(file, {}, scale);
  if (!sweep.ok()) return std::string(sweep.status().message());
  return std::to_string(SweepGrid::Create(*sweep)->kept()) + " | " + sweep->description();
}

inline std::string SweepsMarkdown(const std::string& root) {
  std::string page =
      "# Sweeps\n"
      "\n"
      "Generated from sweeps/*.yaml. The files named after a paper hold one of its tables or figures at the "
      "paper's full settings; `--scale small`\n"
      "runs the same comparison on two CPU cores, with data that `make setup` fetches, in minutes. Each "
      "file's first lines have the question of the table,\n"
      "the choices that its source leaves open, the place of the data of the full size, and the limits of "
      "the "
      "small scale. Tables print the\n"
      "published figures in brackets. Trials share trainings: those that differ only in quantization or "
      "evaluation train once.\n"
      "\n"
      "```sh\n"
      "inlier check sweeps/bondarenko-table2.yaml                    # both sizes\n"
      "inlier run sweeps/bondarenko-table2.yaml --scale small\n"
      "inlier submit sweeps/bondarenko-table2.yaml --set training.precision=FLOAT32\n"
      "```\n"
      "\n"
      "Papers: `bondarenko` is Bondarenko et al. 2023, Quantizable Transformers; `liao` Liao and Monz 2024, "
      "Is It a Free Lunch for Removing Outliers\n"
      "during Pretraining?; `kaul` Kaul et al. 2025, From Attention to Activation.\n"
      "\n"
      "| file | trials | what is compared | trials at small | the small scale, and its limits |\n"
      "|---|---:|---|---:|---|\n";
  for (const std::filesystem::path& file : SweepFiles(root)) {
    const std::string name = file.filename().string();
    const auto scales = ReadScaleNames(file);
    const bool has_small = scales.ok() && std::find(scales->begin(), scales->end(), "small") != scales->end();
    page += "| [" + name + "](../../sweeps/" + name + ") | " + SweepCell(file, "") + " | " +
            (has_small ? SweepCell(file, "small") : " | ") + " |\n";
  }
  return page;
}

}  // namespace inlier

#endif  // INLIER_TESTS_SPEC_SWEEPS_PAGE_H_
