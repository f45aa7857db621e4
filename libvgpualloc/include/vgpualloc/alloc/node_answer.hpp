// What a node answers to a request.
#pragma once

#include "vgpualloc/core/config.hpp"
#include "vgpualloc/model/rejection.hpp"
#include "vgpualloc/policy/policy.hpp"

namespace vgpualloc {

struct node_answer {
    rejection_code code = rejection_code::none;
    double score = 0.0; ///< meaningful if code is none
    /// How far the best placement there falls short of what was asked; less of it goes before a higher score.
    int compromise = 0;
};

} // namespace vgpualloc
