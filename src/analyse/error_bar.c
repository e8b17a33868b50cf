/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyse/error_bar.h"
