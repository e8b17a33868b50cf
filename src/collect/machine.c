/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/machine.h"
