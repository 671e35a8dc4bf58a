// Workers that listen and have a free slot, the longest idle first.
#ifndef INLIER_COORDINATOR_STATE_IDLE_WORKERS_H_
#define INLIER_COORDINATOR_STATE_IDLE_WORKERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "coordinator/store/changes.h"

namespace inlier {

struct IdleWorkers {
  std::map<std::uint64_t, std::string> by_ticket;  // Ticket -> incarnation.
  std::uint64_t last_ticket = 0;
  // Request -> no idle worker with a ticket up to this one has a slot on which it fits.
  std::map<ResourceRequest, std::uint64_t> no_fit_up_to;

  // Puts a worker at the end; returns its ticket.
  std::uint64_t Add(const std::string& incarnation) {
    by_ticket.emplace(++last_ticket, incarnation);
    return last_ticket;
  }
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_IDLE_WORKERS_H_
