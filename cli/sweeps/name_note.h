// What a person should know of the name of a sweep that was made or renamed.
#ifndef INLIER_CLI_SWEEPS_NAME_NOTE_H_
#define INLIER_CLI_SWEEPS_NAME_NOTE_H_

#include <string>

#include "cli/connection/session.h"

namespace inlier {

// "s-2 has the name smoke, too: as a name it means s-9, the newest"; empty where no other sweep of its owner has it, or where that
// cannot be asked.
std::string NoteOnSameName(Session& session, const std::string& sweep_id);

}  // namespace inlier

#endif  // INLIER_CLI_SWEEPS_NAME_NOTE_H_
