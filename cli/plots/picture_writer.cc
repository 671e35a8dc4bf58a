#include "cli/plots/picture_writer.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/scratch_folder.h"
#include "base/status.h"
#include "cli/plots/figure_csv.h"
#include "cli/programs/child_program.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// Gnuplot says nothing of a disk that was full: a picture without the end of its format is a part.
absl::StatusOr<std::string> WholePicture(const fs::path& file, PictureFormat format) {
  const char* end = format == PictureFormat::kSvg   ? "</svg>"
                    : format == PictureFormat::kPdf ? "%%EOF"
                                                    : "IEND";
  ASSIGN_OR_RETURN(std::string picture, ReadFile(file));
  if (picture.find(end, picture.size() - std::min<std::size_t>(picture.size(), 64)) != std::string::npos)
    return picture;
  return absl::ResourceExhaustedError(
      absl::StrCat("gnuplot could not write the whole picture; free space in ",
                   file.parent_path().parent_path().string(), ", or name another place with TMPDIR"));
}

absl::Status RunGnuplot(const std::string& script) {
  // -d: not the user's own settings.
  ASSIGN_OR_RETURN(const ChildEnd end, RunProgram("gnuplot", {"-d", script}));
  if (end.succeeded()) return absl::OkStatus();
  if (end.not_started()) {
    return absl::FailedPreconditionError(
        "gnuplot draws the pictures and is not installed: apt-get install gnuplot-nox (or make setup); the "
        "numbers alone need none: --format csv");
  }
  return absl::FailedPreconditionError(absl::StrCat("gnuplot failed: ", end.last_error));
}

}  // namespace

std::vector<fs::path> FigureFiles::All() const {
  if (picture.empty()) return {numbers};
  return {picture, numbers};
}

absl::StatusOr<FigureFiles> FilesOf(const fs::path& file, std::optional<std::uint32_t> dpi) {
  const std::string ending = absl::AsciiStrToLower(file.extension().string());
  if (dpi && ending != ".png")
    return absl::InvalidArgumentError(absl::StrCat("--dpi ", *dpi, ": ", file.string(),
                                                   " has no pixels; give it a name that ends in .png, or "
                                                   "--format png, or leave out --dpi"));
  FigureFiles files;
  files.dpi = dpi.value_or(kDpi);
  files.numbers = file;
  if (ending == ".csv") return files;
  files.picture = file;
  files.numbers.replace_extension(".csv");
  files.format = ending == ".pdf"   ? PictureFormat::kPdf
                 : ending == ".png" ? PictureFormat::kPng
                                    : PictureFormat::kSvg;
  if (ending == ".svg" || files.format != PictureFormat::kSvg) return files;
  return absl::InvalidArgumentError(
      absl::StrCat(file.string(), ": unsupported format \"", ending, "\"; use .svg, .pdf, .png or .csv"));
}

absl::Status CheckAbsent(const std::vector<FigureFiles>& files) {
  std::string there;
  for (const FigureFiles& each : files) {
    for (const fs::path& file : each.All()) {
      std::error_code error;
      if (fs::exists(fs::symlink_status(file, error)))
        absl::StrAppend(&there, there.empty() ? "" : ", ", file.string());
    }
  }
  if (there.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat(there, ": there already; --force replaces, -o names another file"));
}

absl::Status WriteFigure(const Figure& figure, const FigureFiles& files) {
  const ScratchFolder scratch("plot");
  const fs::path& folder = scratch.path();
  if (folder.empty())
    return absl::FailedPreconditionError("cannot make a temporary folder; name a place for it with TMPDIR");
  const fs::path data = folder / "data.txt", script = folder / "script.gp", picture = folder / "picture";
  if (!files.picture.empty()) {
    const std::string name = folder.string();
    if (std::ranges::any_of(name, [](unsigned char c) { return c == '\'' || c < ' '; }))
      return absl::FailedPreconditionError(
          "the temporary folder has a quote in its name; name another one with TMPDIR");
    RETURN_IF_ERROR(WriteFile(data, GnuplotData(figure)));
    RETURN_IF_ERROR(
        WriteFile(script, GnuplotScript(figure, files.format, files.dpi, data.string(), picture.string())));
    RETURN_IF_ERROR(RunGnuplot(script.string()));
    ASSIGN_OR_RETURN(const std::string whole, WholePicture(picture, files.format));
    RETURN_IF_ERROR(WriteFileAtomically(files.picture, whole));
  }
  return WriteFileAtomically(files.numbers, FigureCsv(figure));
}

}  // namespace inlier
