/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/where.h"
