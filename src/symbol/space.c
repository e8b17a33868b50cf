/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/space.h"
