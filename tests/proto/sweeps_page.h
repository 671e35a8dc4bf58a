// docs/reference/sweeps.md: what sweeps/ holds, from the files themselves.
#ifndef INLIER_TESTS_PROTO_SWEEPS_PAGE_H_
#define INLIER_TESTS_PROTO_SWEEPS_PAGE_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "proto/spec/sweep_grid.h"
#include "proto/spec/sweep_reader.h"

namespace inlier {

// The .yaml files of sweeps/, numbers in their names in order.
inline std::vector<std::filesystem::path> SweepFiles(const std::string& root) {
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
  return std::to_string(*SweepGrid::Create(*sweep)->kept()) + " | " + sweep->description();
}

inline std::string SweepsMarkdown(const std::string& root) {
  std::string page =
      "# Sweeps\n"
      "\n"
      "Generated from sweeps/*.yaml. The files named after a paper hold one of its tables or figures at the "
      "paper's full settings; `--scale small`\n"
      "runs the same comparison on two CPU cores, with data that `make setup` fetches, in minutes. Each "
      "file's first lines say what the table asks,\n"
      "what its source leaves open, where the data of the full size must lie, and what the small scale shows "
      "and does not show. Tables name the\n"
      "published figures, which stand in brackets beside ours. Trials share trainings: those that differ in "
      "quantization or evaluation alone train once.\n"
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
      "| file | trials | what is compared | trials at small | what the small scale is, and what it shows |\n"
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

#endif  // INLIER_TESTS_PROTO_SWEEPS_PAGE_H_
