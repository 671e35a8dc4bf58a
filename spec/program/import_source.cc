#include "spec/program/import_source.h"

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

const char* FormatWord(v1::ImportSource::Format format) {
  switch (format) {
    case v1::ImportSource::CSV:
      return "CSV";
    case v1::ImportSource::TENSORBOARD:
      return "TensorBoard";
    case v1::ImportSource::WANDB:
      return "Weights & Biases";
    case v1::ImportSource::MLFLOW:
      return "MLflow";
  }
  return "";
}

}  // namespace

std::string ImportText(const v1::ImportSource& source, const std::string& owner, WallTime at) {
  const std::string& by = owner.empty() ? source.by() : owner;
  return absl::StrCat("imported from ", source.path(), " (", FormatWord(source.format()),
                      source.files() > 1 ? absl::StrCat(", ", source.files(), " files") : "", ", SHA-256 ",
                      source.sha256(), "), on ", FormatUtc(at), by.empty() ? "" : ", by ", by);
}

absl::Status CheckNotImported(const v1::SweepSpec& spec, const std::string& sweep) {
  if (!spec.has_imported()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "sweep ", sweep, " was imported from ", spec.imported().path(),
      ": nothing of it runs here, so it is not run, edited, paused, resumed, cancelled or retried; "
      "`inlier remove` takes it away"));
}

}  // namespace inlier
