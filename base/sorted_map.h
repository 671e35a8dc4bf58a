// The entries of a map in the order of their keys: protobuf's maps have another order each time.
#ifndef INLIER_BASE_SORTED_MAP_H_
#define INLIER_BASE_SORTED_MAP_H_

#include <map>

namespace inlier {

template <typename Map>
std::map<typename Map::key_type, typename Map::mapped_type> Sorted(const Map& map) {
  return {map.begin(), map.end()};
}

}  // namespace inlier

#endif  // INLIER_BASE_SORTED_MAP_H_
