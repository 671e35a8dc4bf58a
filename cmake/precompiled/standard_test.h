#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled/standard.h"
