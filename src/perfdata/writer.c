/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfdata/writer.h"
