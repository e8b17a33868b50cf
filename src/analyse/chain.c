/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/chain.h"
