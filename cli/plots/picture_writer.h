// Figures as files: a picture by gnuplot, which needs no display, and a CSV of the numbers.
//
// Thread safety: none.
#ifndef INLIER_CLI_PLOTS_PICTURE_WRITER_H_
#define INLIER_CLI_PLOTS_PICTURE_WRITER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/plots/gnuplot_script.h"
#include "results/figures/figure.h"

namespace inlier {

// Where a figure goes.
struct FigureFiles {
  std::filesystem::path picture;  // Empty: only the numbers.
  PictureFormat format = PictureFormat::kSvg;
  std::uint32_t dpi = kDpi;  // Of a .png.
  std::filesystem::path numbers;

  std::vector<std::filesystem::path> All() const;
};

// By the ending of `file`: .svg, .pdf, .png, or .csv for the numbers alone. InvalidArgument for any other, and for a `dpi` of
// one that has no pixels.
absl::StatusOr<FigureFiles> FilesOf(const std::filesystem::path& file,
                                    std::optional<std::uint32_t> dpi = std::nullopt);

// AlreadyExists names those that are there.
absl::Status CheckAbsent(const std::vector<FigureFiles>& files);

// Replaces the files; each appears complete or not at all. FailedPrecondition: gnuplot is not installed, or fails.
absl::Status WriteFigure(const Figure& figure, const FigureFiles& files);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_PICTURE_WRITER_H_
