#include "worker/programs/program_environment.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/environment.h"
#include "base/status.h"
#include "worker/programs/program_process.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<fs::path> VenvOf(const fs::path& root, const std::string& venv) {
  const fs::path folder = root / venv;
  if (fs::exists(folder / "bin" / "python")) return folder;
  return absl::FailedPreconditionError(absl::StrCat("environment.venv: there is no Python environment in ",
                                                    folder.string(), "; make it with `python3 -m venv ",
                                                    folder.string(), "` and install what the program needs"));
}

// By name: where conda, miniconda and mamba keep environments.
absl::StatusOr<fs::path> CondaOf(const fs::path& root, const std::string& name) {
  std::vector<fs::path> places;
  if (name.find('/') != std::string::npos) {
    places.push_back(root / name);
  } else {
    const fs::path home = EnvironmentVariableOr("HOME", "/");
    for (const char* base : {".conda", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba"})
      places.push_back(home / base / "envs" / name);
    for (const char* base : {"/opt/conda", "/opt/miniconda3", "/opt/miniforge3"})
      places.push_back(fs::path(base) / "envs" / name);
  }
  std::vector<std::string> shown;
  for (const fs::path& place : places) {
    if (fs::exists(place / "bin")) return place;
    shown.push_back(place.string());
  }
  return absl::FailedPreconditionError(absl::StrCat("environment.conda: the environment ", name,
                                                    " is not there (", absl::StrJoin(shown, ", "),
                                                    "); make it, or give its folder"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ProgramVariables(const fs::path& root,
                                                          const v1::ProgramDescription& description,
                                                          const fs::path& trial_file) {
  std::vector<std::string> variables = {absl::StrCat(kTrialVariable, "=", trial_file.string()),
                                        "INLIER_EVENTS=3"};
  const v1::ProgramEnvironment& environment = description.environment();
  const std::string path = EnvironmentVariableOr("PATH", "/usr/local/bin:/usr/bin:/bin");
  if (environment.has_venv()) {
    ASSIGN_OR_RETURN(const fs::path venv, VenvOf(root, environment.venv()));
    variables.push_back(absl::StrCat("VIRTUAL_ENV=", venv.string()));
    variables.push_back(absl::StrCat("PATH=", (venv / "bin").string(), ":", path));
  } else if (environment.has_conda()) {
    ASSIGN_OR_RETURN(const fs::path conda, CondaOf(root, environment.conda()));
    variables.push_back(absl::StrCat("CONDA_PREFIX=", conda.string()));
    variables.push_back(absl::StrCat("PATH=", (conda / "bin").string(), ":", path));
  }
  return variables;
}

}  // namespace inlier
