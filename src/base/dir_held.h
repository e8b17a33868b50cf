/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir_held - directories for as long as a process lives. It holds a lock on each, so that a later
 * process can remove the directories of one that was killed.
 *
 *	dir_held_sweep("/dev/shm", "cyclade-")	removes those that are not held
 *	lock = dir_held_make(path)	"/dev/shm/cyclade-XXXXXX", which becomes the name; -1: errno
 *	dir_held_remove(path)		with all files in it
 *	close(lock)
 *
 * A name is anything, then `mark`, then six letters. Users have directories of such names, too. So
 * a directory that is held gets a mode that no directory has by chance. The sweep follows no link
 * and removes only directories of this user with exactly that mode that are some seconds old. On
 * file systems without locks, or with locks that do not reach other hosts, directories are made,
 * but not swept.
 */
#ifndef CYCLADE_BASE_DIR_HELD_H
#define CYCLADE_BASE_DIR_HELD_H

int dir_held_make(char *path);
void dir_held_remove(const char *path);
void dir_held_sweep(const char *parent, const char *mark);

#endif
