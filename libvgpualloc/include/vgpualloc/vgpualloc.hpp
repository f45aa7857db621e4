// Everything a user of the allocation core needs.
#pragma once

#include "vgpualloc/alloc/allocator.hpp"
#include "vgpualloc/alloc/naive_allocator.hpp"
#include "vgpualloc/compat/fgd/policies.hpp"
#include "vgpualloc/core/expected.hpp"
#include "vgpualloc/core/rng.hpp"
#include "vgpualloc/core/units.hpp"
#include "vgpualloc/dialect/openb.hpp"
#include "vgpualloc/metrics/fragmentation.hpp"
#include "vgpualloc/mode/all.hpp"
#include "vgpualloc/model/cluster.hpp"
#include "vgpualloc/model/ledger.hpp"
#include "vgpualloc/model/request.hpp"
#include "vgpualloc/policy/all.hpp"
#include "vgpualloc/policy/parse.hpp"
#include "vgpualloc/version.hpp"
