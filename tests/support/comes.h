// A condition that another thread or process makes true.
#ifndef INLIER_TESTS_SUPPORT_COMES_H_
#define INLIER_TESTS_SUPPORT_COMES_H_

#include <chrono>
#include <thread>

namespace inlier {

// True when the condition holds within a minute.
template <typename Condition>
bool Comes(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace inlier

#endif  // INLIER_TESTS_SUPPORT_COMES_H_
