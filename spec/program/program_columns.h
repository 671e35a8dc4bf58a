// The columns of the views that programs of one's own add: one for each parameter.
//
// All programs have their parameters at the same places of a trial, so equal names are one column, whatever their case.
// A name that is a column of ours already is that one.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_PROGRAM_PROGRAM_COLUMNS_H_
#define INLIER_SPEC_PROGRAM_PROGRAM_COLUMNS_H_

#include <string>
#include <vector>

#include "inlier/v1/program.pb.h"
#include "spec/schema/columns.h"
#include "spec/schema/problems.h"

namespace inlier {

// The columns of the view `trials` that are neither of a parameter nor of a measurement; also those of `results`.
const std::vector<std::string>& FixedColumns();

// Columns of parameters and of measurements that programs add at most, together: SQLite's limit for one view is 2,000. Those
// of later programs are left out, which ColumnsNote and WhyNoColumn tell.
inline constexpr std::size_t kProgramColumnsMax = 1000;
inline constexpr std::size_t kProgramMeasurementsMax = 500;
// Parameters of other groups that have one column: SQLite's limit for the arguments of a function is 127.
inline constexpr std::size_t kColumnPathsMax = 100;

// The column of the parameter `name`.
std::string ColumnOf(const std::string& name, const v1::ProgramParameter& parameter);

// The columns of a program's trials: of the seed, and of the parameters by name.
std::vector<SpecColumn> ColumnsOf(const v1::ProgramDescription& program);

// SpecColumns(), and those of the programs.
std::vector<SpecColumn> ColumnsWith(const std::vector<v1::ProgramDescription>& programs);

// Which parameters of `program` get no column after those of `programs`, and the remedy; "": each has one.
std::string ColumnsNote(std::vector<v1::ProgramDescription> programs, const v1::ProgramDescription& program);
// The same for the parameter whose column has this name; "": no program has one that is left out.
std::string WhyNoColumn(const std::vector<v1::ProgramDescription>& programs, const std::string& column);

// Adds a problem for each parameter and measurement whose column would be another thing's.
void CheckColumns(const v1::ProgramDescription& program, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_PROGRAM_PROGRAM_COLUMNS_H_
