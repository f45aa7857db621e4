// The solver of linear programs, for a program that has one: it defines vgpusim::find_solver() itself, which is then
// linked in the place of the library's.
#pragma once

#include "vgpusim/study/solver.hpp"
