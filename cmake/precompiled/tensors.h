// Not torch/torch.h: with its modules and optimizers every file, even an empty one, takes ten seconds more of templates.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "cmake/precompiled/messages.h"
