#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/torch.h>

#include "cmake/precompiled/messages.h"
