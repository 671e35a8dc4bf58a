#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled/tensors.h"
