/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dir_held - directories for as long as a process lives: a lock on each says that it does, so the
 * next process can remove those of one that was killed.
 *
 *	dir_held_sweep("/dev/shm", "cyclade-")	what nobody holds
 *	lock = dir_held_make(path)	"/dev/shm/cyclade-XXXXXX", which becomes the name; -1: errno
 *	dir_held_remove(path)		with all files in it
 *	close(lock)
 *
 * A name is anything, then `mark`, then six letters. Users have directories of such names: so one
 * that is held gets a mode that nobody gives to a directory by chance, and only directories of this
 * user with exactly that mode are removed, without following links, if they are some seconds old.
 * Where there are no locks, or they do not reach other hosts, a directory is made all the same, but
 * none is removed for lack of a lock.
 */
#ifndef CYCLADE_BASE_DIR_HELD_H
#define CYCLADE_BASE_DIR_HELD_H

int dir_held_make(char *path);
void dir_held_remove(const char *path);
void dir_held_sweep(const char *parent, const char *mark);

#endif
