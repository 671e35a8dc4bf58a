// How much a request may carry: what a client can make the coordinator keep, and a worker make it read.
#ifndef INLIER_SPEC_SCHEMA_LIMITS_H_
#define INLIER_SPEC_SCHEMA_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace inlier {

struct Limits {
  // Of a sweep.
  static constexpr std::size_t kSweepBytesMax = 8 << 20;   // Also of its file.
  static constexpr std::size_t kTrialBytesMax = 64 << 10;  // The base with the largest value of each axis.
  static constexpr std::size_t kTextBytesMax = 64 << 10;   // Descriptions.
  static constexpr std::size_t kSourceBytesMax = 1 << 20;  // Of a program's diff; `inlier` cuts it before.
  static constexpr int kAxesMax = 64;
  static constexpr int kValuesMax = 100'000;  // Of one axis.
  static constexpr int kDepthMax = 48;        // Messages inside each other; a nested value counts as two.
  static constexpr int kExclusionsMax = 10'000;
  static constexpr int kTiesMax = 32;
  static constexpr std::size_t kTieBytesMax = 1024;  // Of one expression.
  static constexpr std::size_t kTieFieldsMax = 16;   // That it uses.
  static constexpr int kStartsMax = 16;  // Trainings in a row, each of which starts from the one before.
  static constexpr int kTableColumnsMax = 1000;
  static constexpr int kTableCorrelationsMax = 100;
  static constexpr int kTableRowsMax = 64;            // Columns of row headings.
  static constexpr int kTableConditionsMax = 10'000;  // Values in all conditions of a table.
  static constexpr int kTableCellsMax = 1'000'000;    // Row headings included.
  static constexpr int kTableTrialsMax = 500'000;     // Named by the cells of a table.
  // Of an import.
  static constexpr int kImportedRunsMax = 10'000;
  static constexpr std::uint64_t kImportedNumbersMax = 500'000;  // Points of curves and results together.
  // Of a worker's sync.
  static constexpr int kSlotsMax = 1024;
  static constexpr int kAttemptsMax = 4096;
  static constexpr int kEventsMax = 10'000;
  static constexpr std::size_t kSiteBytesMax = 512;       // Module path of a measurement.
  static constexpr std::size_t kMessageBytesMax = 4096;   // Of an outcome; a longer one is cut.
  static constexpr std::size_t kLogLineBytesMax = 65536;  // A longer one is cut.
  static constexpr std::uint64_t kLogLinesMax =
      10'000;  // Of one attempt; a line reports that more are left out.
  static constexpr std::uint64_t kLogBytesMax = 8 << 20;    // Of these lines.
  static constexpr std::size_t kProvenanceBytesMax = 4096;  // Of each text in Started.
  static constexpr std::size_t kPathBytesMax = 4096;
  // Ends a page of an answer: below the 4 MiB that any client of gRPC accepts.
  static constexpr std::size_t kPageBytesMax = 3 << 20;
  // Of any request.
  static constexpr std::size_t kNameBytesMax = 256;   // Names, groups, paths of fields, labels.
  static constexpr std::size_t kWordBytesMax = 1024;  // Of any other text: an id, a page token.
};

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_LIMITS_H_
