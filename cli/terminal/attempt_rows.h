// Running attempts as rows: trial, work done, sparkline of the loss, loss, rate, latest measurements, labels.
#ifndef INLIER_CLI_TERMINAL_ATTEMPT_ROWS_H_
#define INLIER_CLI_TERMINAL_ATTEMPT_ROWS_H_

#include <string>

#include "cli/terminal/styled_text.h"
#include "cli/terminal/sweep_model.h"

namespace inlier {

// Lines of an attempt at a width: in a narrow terminal its labels are below it.
int LinesOfAttempt(int columns);

// The heading of wide rows; no line in a narrow terminal.
Drawing AttemptHeading(int columns);
Drawing DrawAttempt(const SweepModel& sweep, const v1::RunningAttempt& attempt, int columns, bool selected);

// "train 82/400", "starting".
std::string WorkText(const v1::RunningAttempt& attempt);
// "perplexity 33.1, max_inf_norm 12.4": the latest values of the main measurements, with four significant digits.
std::string LatestText(const v1::RunningAttempt& attempt);

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_ATTEMPT_ROWS_H_
