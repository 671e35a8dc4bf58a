// The specifications of trials that wait, 16 bytes each: the trials of a sweep share their model, data,
// training and so on, so that these groups are kept once and a specification names them, beside its seed.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_SPEC_POOL_H_
#define INLIER_COORDINATOR_ORCHESTRATION_SPEC_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/spec/spec_parts.h"

namespace inlier {

using SpecHandle = std::uint32_t;
inline constexpr SpecHandle kNoSpec = 0;

class SpecPool {
 public:
  // Keeps a serialised TrialSpec for one user. What is none is kept too, as it is.
  SpecHandle Add(std::string_view packed);
  // The same for one user more.
  SpecHandle Share(SpecHandle handle);
  // One user less; with the last it is forgotten. kNoSpec: nothing happens.
  void Release(SpecHandle handle);
  // A serialised TrialSpec that says the same as the one that was added. REQUIRES: it has a user.
  std::string Get(SpecHandle handle) const;

  std::size_t size() const { return specs_.size() - free_.size(); }  // Specifications.
  std::size_t texts() const { return number_of_text_.size(); }       // Shared texts.

 private:
  static constexpr std::size_t kSeedMax = 8;  // One is a tag and a number of 32 bits.
  // The groups; behind them the rest without the seed. Numbers of texts, 0: none.
  using Groups = std::array<std::uint32_t, kSpecGroups.size() + 1>;

  struct Spec {
    std::uint32_t groups = 0;
    std::uint16_t users = 0;
    std::uint16_t seed_size = 0;
    char seed[kSeedMax] = {};
  };
  template <typename Value>
  struct Counted {
    Value value{};
    std::uint64_t users = 0;
  };

  std::uint32_t TextOf(std::string_view text, std::uint32_t guess);
  std::uint32_t GroupsOf(const Groups& groups);

  std::deque<Spec> specs_;  // By handle - 1.
  std::vector<SpecHandle> free_;
  std::deque<Counted<std::string>> texts_;  // By number - 1; its user is a combination of groups.
  std::vector<std::uint32_t> free_texts_;
  std::unordered_map<std::string_view, std::uint32_t> number_of_text_;  // Never walked.
  std::deque<Counted<Groups>> groups_;                                  // By number; its user is a Spec.
  std::vector<std::uint32_t> free_groups_;
  std::map<Groups, std::uint32_t> number_of_groups_;
  Groups latest_{};
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_SPEC_POOL_H_
