// One head of a row of heads: its context on the way into and out of the merged context, with an output gate where there
// is one, and rotary positions.
#ifndef INLIER_CORE_KERNELS_HEADS_H_
#define INLIER_CORE_KERNELS_HEADS_H_

#include <cstdint>

#include "core/kernels/element.h"

namespace inlier::kernels {

template <typename T>
struct HeadGate {
  const Real<T>* factors = nullptr;  // (rows), or (rows, width) by element; null: no gate.
  bool by_element = false;
};

// out = o * gate as T; raw = o as T. o is contiguous (rows, width), out and raw have a stride. `raw` may be null.
template <typename T>
void StoreHead(std::int64_t rows, std::int64_t width, const Real<T>* o, const HeadGate<T>& gate, T* raw,
               T* out, std::int64_t stride);

// From the gradient of `out`: that of o, as T (may be out_gradient itself), and of the gate, in its shape:
// out_gradient * raw, a row's sum where a row has one factor. REQUIRES: there is a gate.
template <typename T>
void GateBackward(std::int64_t rows, std::int64_t width, const T* out_gradient, const HeadGate<T>& gate,
                  const T* raw, T* o_gradient, Real<T>* gate_gradient, std::int64_t stride);

// Rotary positions (core/nn/attention/rotary.h) of `heads` heads side by side, in place: row r is token (first + r) % tokens.
// cosine, sine: (tokens, size / 2). `inverse`: turned back, which is also the gradient's way.
template <typename T>
void RotateHeads(std::int64_t rows, std::int64_t first, std::int64_t tokens, std::int64_t heads,
                 std::int64_t size, const Real<T>* cosine, const Real<T>* sine, bool inverse, T* x,
                 std::int64_t stride);

// a + b in place of a; both (rows, width) with the stride.
template <typename T>
void AddHead(std::int64_t rows, std::int64_t width, T* a, const T* b, std::int64_t stride);

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_HEADS_H_
