/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file_mount - roots that are not in the file system, for file_in.c alone: an archive's files.
 * file_in.h has what mounts and unmounts them. A handful at most: they are looked through.
 */
#ifndef CYCLADE_BASE_FILE_MOUNT_H
#define CYCLADE_BASE_FILE_MOUNT_H

#include <sys/stat.h>

#include "base/err.h"

enum { FILE_NOT_MOUNTED = -2 };

/* A descriptor; -1: no such file is there; FILE_NOT_MOUNTED: it is to be opened as any other. */
int file_mount_open(const char *root, const char *path, struct stat *st, struct err *err);

#endif
