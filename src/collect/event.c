/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/event.h"
