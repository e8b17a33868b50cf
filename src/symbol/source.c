/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbol/source.h"
