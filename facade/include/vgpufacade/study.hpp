// The files of studies, for callers that run the cells of a study themselves.
#pragma once

#include "vgpusim/outputs/figures.hpp"
#include "vgpusim/study/load_study.hpp"
#include "vgpusim/study/loss_study.hpp"
#include "vgpusim/study/loss_study_files.hpp"
#include "vgpusim/study/stale.hpp"
#include "vgpusim/study/study_files.hpp"
#include "vgpusim/workload/kubernetes.hpp"
