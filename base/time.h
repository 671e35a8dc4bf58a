// Two times that never mix: Timestamp measures (monotonic, for deadlines), WallTime is shown and stored.
//
// Time is an argument: only the loops of the daemons read the clocks; decisions get the time as a parameter.
#ifndef INLIER_BASE_TIME_H_
#define INLIER_BASE_TIME_H_

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace inlier {

using Duration = std::chrono::nanoseconds;

// A point of the monotonic clock; it means nothing outside this process.
struct Timestamp {
  Duration since_start{0};

  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
  friend Timestamp operator+(Timestamp t, Duration d) { return {t.since_start + d}; }
  friend Timestamp operator-(Timestamp t, Duration d) { return {t.since_start - d}; }
  friend Duration operator-(Timestamp a, Timestamp b) { return a.since_start - b.since_start; }
  Timestamp& operator+=(Duration d) {
    since_start += d;
    return *this;
  }
};

// A point of the calendar, milliseconds since 1970 UTC.
struct WallTime {
  std::int64_t unix_ms = 0;
  friend auto operator<=>(const WallTime&, const WallTime&) = default;
};

Timestamp MonotonicNow();
WallTime WallNow();

inline double ToSeconds(Duration d) { return std::chrono::duration<double>(d).count(); }
inline Duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// "2026-01-31T12:00:00.123Z"
std::string FormatUtc(WallTime time);
// "1 h 02 min", "3 min 20 s", "42 s", "0.8 s".
std::string FormatDuration(Duration d);

}  // namespace inlier

#endif  // INLIER_BASE_TIME_H_
