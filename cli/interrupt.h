// Ctrl-C and SIGTERM as a flag for loops.
#ifndef INLIER_CLI_INTERRUPT_H_
#define INLIER_CLI_INTERRUPT_H_

namespace inlier {

// After this call SIGINT and SIGTERM set the flag instead of ending the process; a second SIGINT ends it.
void CatchInterrupts();
bool Interrupted();

}  // namespace inlier

#endif  // INLIER_CLI_INTERRUPT_H_
