// A sweep from YAML, checked as far as it can be without running it.
#ifndef INLIER_SPEC_SWEEP_SWEEP_READER_H_
#define INLIER_SPEC_SWEEP_SWEEP_READER_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/problems.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// Problems of a sweep: its name, axes (SweepGrid), every value of every axis in a resolved and validated trial, table.
Problems FindSweepProblems(const v1::SweepSpec& sweep);

// InvalidArgument for a name that no sweep may have.
absl::Status CheckSweepName(const std::string& name);

// The grid of a sweep that a client sent. Finds what FindSweepProblems finds, except that of long axes some values
// alone, spread evenly, are checked in a trial (types and ranges of all are checked): so it takes milliseconds for any
// sweep. Other invalid trials fail with the reason when they are made.
absl::StatusOr<SweepGrid> CheckedGrid(const v1::SweepSpec& sweep);

// Reads, replaces `model: {hugging_face: FOLDER}` (model_folders.h) and `~` and `${NAME}` in paths (path_text.h), by the
// environment of this process, merges the scale of that name (none when empty), applies `overrides` ("training.steps=100") to
// the base, and checks. Errors have file, line, column and path.
absl::StatusOr<v1::SweepSpec> ReadSweepText(std::string_view text, const std::string& file,
                                            const std::vector<std::string>& overrides = {},
                                            const std::string& scale = "");
absl::StatusOr<v1::SweepSpec> ReadSweepFile(const std::filesystem::path& file,
                                            const std::vector<std::string>& overrides = {},
                                            const std::string& scale = "");

// The names of the scales that a file has, sorted.
absl::StatusOr<std::vector<std::string>> ReadScaleNames(const std::filesystem::path& file);
absl::StatusOr<std::vector<std::string>> ScaleNamesOfText(std::string_view text, const std::string& file,
                                                          const std::vector<std::string>& overrides = {});

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_SWEEP_READER_H_
