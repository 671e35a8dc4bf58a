// Named places where a test of faults may end or stop the process, in the programs as they are shipped.
//
// INLIER_FAILPOINTS="commit.before=kill@3,outbox.sync.after=stop@1" in the environment, read once at the
// start: at the third arrival at commit.before the process gets SIGKILL, at the first at outbox.sync.after
// SIGSTOP, each reported on stderr ("failpoint commit.before kill"). Without the variable a place costs one
// branch. A variable that cannot be read ends the process at once, with the reason.
//
// Thread safety: any thread.
#ifndef INLIER_BASE_FAILPOINT_H_
#define INLIER_BASE_FAILPOINT_H_

namespace inlier {

extern const bool kFailpointsArmed;
void ReachFailpoint(const char* name);

inline void Failpoint(const char* name) {
  if (kFailpointsArmed) [[unlikely]]
    ReachFailpoint(name);
}

}  // namespace inlier

#endif  // INLIER_BASE_FAILPOINT_H_
