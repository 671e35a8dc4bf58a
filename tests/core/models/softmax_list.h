// Every softmax, for the tests of whole models: docs/guides/add-a-softmax.md.
#ifndef INLIER_TESTS_CORE_MODELS_SOFTMAX_LIST_H_
#define INLIER_TESTS_CORE_MODELS_SOFTMAX_LIST_H_

namespace inlier {

// Text forms of SoftmaxSpec.
inline const char* const kSoftmaxes[] = {"vanilla {}",
                                         "clipped { gamma: -0.1 zeta: 1.05 }",
                                         "ncs { beta: -0.5 length: RUN }",
                                         "ncs { beta: 0.5 length: UNPADDED zeta: 1.02 }",
                                         "softmax_n { n: 1 }",
                                         "softmax_n { n: 2.5 }",
                                         "sink { initial_std: 0.5 }",
                                         "softpick {}",
                                         "sigmoid {}",
                                         "relu { power: 0.5 }"};

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_MODELS_SOFTMAX_LIST_H_
