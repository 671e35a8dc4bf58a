// Numbers for tests of kernels, and their comparison.
#ifndef INLIER_TESTS_CORE_KERNELS_NUMBERS_H_
#define INLIER_TESTS_CORE_KERNELS_NUMBERS_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/kernels/element.h"

namespace inlier::kernels {

inline constexpr std::int64_t kWidths[] = {1, 7, 63, 64, 65, 127, 128, 129, 1000};

// Uniform in [-3, 3), as T.
template <typename T>
std::vector<T> Numbers(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-3, 3);
  std::vector<T> numbers(count);
  for (T& x : numbers) x = ToElement<T>(static_cast<Real<T>>(uniform(random)));
  return numbers;
}

template <typename T>
std::vector<double> Widened(const std::vector<T>& numbers) {
  std::vector<double> wide;
  for (const T& x : numbers) wide.push_back(ToReal(x));
  return wide;
}

// Of a result kept as T, relative to 1 + its size.
template <typename T>
double Tolerance() {
  return std::is_same_v<T, double> ? 1e-12 : std::is_same_v<T, float> ? 3e-6 : 1.0 / 256;
}

template <typename T>
void ExpectNear(const std::vector<T>& got, const std::vector<double>& want, const std::string& what,
                double tolerance = Tolerance<T>()) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(ToReal(got[i]), want[i], tolerance * (1 + std::fabs(want[i]))) << what << ", element " << i;
  }
}

// The derivative of loss() by each of `inputs`, by central differences.
template <typename Loss>
std::vector<double> Differences(std::vector<double>& inputs, Loss loss) {
  constexpr double kStep = 1e-5;
  std::vector<double> slopes;
  for (double& x : inputs) {
    const double old = x;
    x = old + kStep;
    const double above = loss();
    x = old - kStep;
    const double below = loss();
    x = old;
    slopes.push_back((above - below) / (2 * kStep));
  }
  return slopes;
}

inline double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Of values of size 1 by Differences.
inline constexpr double kDifferenceTolerance = 1e-7;

using Elements = ::testing::Types<float, double, Bf16>;

}  // namespace inlier::kernels

#endif  // INLIER_TESTS_CORE_KERNELS_NUMBERS_H_
