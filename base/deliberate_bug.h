// INLIER_BUG("name"): the place of a deliberate bug, by which the simulation proves that it would see a real
// one (tests/simulation). It is `false` unless the build has INLIER_DELIBERATE_BUGS.
//
//   if (!INLIER_BUG("token_check_dropped") && token != live) return;
#ifndef INLIER_BASE_DELIBERATE_BUG_H_
#define INLIER_BASE_DELIBERATE_BUG_H_

#ifdef INLIER_DELIBERATE_BUGS

#include <cstring>

namespace inlier {
// The bug that is on, empty for none; set before anything runs.
inline const char* deliberate_bug = "";
inline bool DeliberateBugIsOn(const char* name) { return std::strcmp(deliberate_bug, name) == 0; }
}  // namespace inlier

#define INLIER_BUG(name) (::inlier::DeliberateBugIsOn(name))

#else

#define INLIER_BUG(name) false

#endif

#endif  // INLIER_BASE_DELIBERATE_BUG_H_
