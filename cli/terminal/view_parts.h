// Parts that several views share.
#ifndef INLIER_CLI_TERMINAL_VIEW_PARTS_H_
#define INLIER_CLI_TERMINAL_VIEW_PARTS_H_

#include <string>
#include <string_view>

#include "cli/terminal/styled_text.h"
#include "cli/terminal/views.h"

namespace inlier {

// "active", "PAUSED", "partly failed: 3 of 56 trials": the state of a sweep, in its style.
Span StateSpan(const v1::SweepStatus& status);

// "████▌·····  42 %".
void AddBar(StyledLine& line, double share, int columns);

// Title on the left, the clock on the right.
StyledLine TitleLine(StyledLine left, const ViewTime& time, int columns);

// The last line: the question, else why nothing new comes, else the result of the last key, else `keys`.
StyledLine FooterLine(const ViewState& state, std::string_view keys, int columns);

// Adds an empty line and a heading, `rest` behind it.
void AddHeading(Drawing& drawing, std::string_view heading, std::string_view rest = "");

void Append(Drawing& drawing, Drawing lines);

// A notice, wrapped; failures in their style.
void AddNotice(Drawing& drawing, const std::string& text, bool failure, int columns, std::size_t lines_max);

// Exactly `size`: cut or filled, with `footer` as the last row.
Drawing Fit(Drawing body, StyledLine footer, ScreenSize size);

// The first item to show of `count` so that `selected` is among the `shown` shown ones.
int FirstShown(int selected, int count, int shown);

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_VIEW_PARTS_H_
