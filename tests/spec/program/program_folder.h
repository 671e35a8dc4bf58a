// A folder with a program of one's own: its description and its source.
#ifndef INLIER_TESTS_SPEC_PROGRAM_PROGRAM_FOLDER_H_
#define INLIER_TESTS_SPEC_PROGRAM_PROGRAM_FOLDER_H_

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace inlier {

inline constexpr char kDescription[] =
    "name: mygpt\n"
    "command: [python, train.py]\n"
    "evaluate: [python, evaluate.py]\n"
    "parameters:\n"
    "  lr: {type: NUMBER, default: 3e-4, min: 0, exclusive_min: true, max: 1, symbol: '\\eta', comment: Step "
    "size.}\n"
    "  layers: {type: INTEGER, default: 4, min: 1}\n"
    "  optimizer.name: {type: TEXT, choices: [adam, sgd], default: adam, column: optimizer}\n"
    "  optimizer.momentum: {type: NUMBER, default: 0.9}\n"
    "  causal: {type: TRUE_OR_FALSE, default: true}\n"
    "  note: {type: TEXT}\n"
    "  print_every: {type: INTEGER, default: 10, incidental: true}\n"
    "  bits: {type: INTEGER, default: 8, read_by: EVALUATION}\n"
    "  data: {type: TEXT, required: true}\n"
    "measurements:\n"
    "  perplexity: {better: LOWER, formula: exp of the mean loss, reported_by: EVALUATION}\n"
    "  train_loss: {better: LOWER, unit: nat}\n";

class ProgramFolder {
 public:
  explicit ProgramFolder(const std::string& description = kDescription) {
    Write("inlier-program.yaml", description);
    Write("train.py", "print('train')\n");
    Write("evaluate.py", "print('evaluate')\n");
  }
  std::filesystem::path path() const { return folder_.path(); }
  void Write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name) << content;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SPEC_PROGRAM_PROGRAM_FOLDER_H_
