# SPDX-License-Identifier: BSD-3-Clause
# What runs in the guest, under busybox' shell as root, in /tmp. Each scene leaves NAME.out, NAME.err and NAME.rc, and
# files of its own, in /tmp/out; test_guest.py looks at them. ONLY names sections to run; none: all.
out=/tmp/out
cpu1=/sys/devices/system/cpu/cpu1/online

scene() { # name, command...
	local name=$1
	shift
	echo "$(cut -d' ' -f1 /proc/uptime) $name"
	"$@" >$out/$name.out 2>$out/$name.err
	echo $? >$out/$name.rc
}

stat_j() { # name, words of cyclade stat...
	local name=$1
	shift
	scene $name cyclade stat -j -o $out/$name.json "$@"
}

perf_x() { # name, words of perf stat...
	local name=$1
	shift
	scene $name perf stat -x, -o $out/$name.csv "$@"
}

rec() { # name, words of cyclade record...
	local name=$1
	shift
	scene $name cyclade record -o $out/$name.data "$@"
	read_it $name
}

read_it() { # a recording, read by both
	scene $1.report cyclade report -i $out/$1.data --format csv --min 0
	scene $1.info cyclade info -j -i $out/$1.data
	scene $1.perf perf script -G -i $out/$1.data -F comm,tid,time,event,ip,sym
	scene $1.stats perf report -i $out/$1.data --stats
}

# The words after N have @ for the number of a process that takes N turns once the command has begun.
on_fifo() { # N, command...
	local n=$1 words= w pid tool
	shift
	loop $n w <go &
	pid=$!
	exec 3>go
	for w in "$@"; do
		[ "$w" = @ ] && w=$pid
		words="$words $w"
	done
	$words &
	tool=$!
	sleep 0.3
	echo >&3
	wait $tool
	exec 3>&-
}

# QEMU counts instructions of all CPUs together: those of one are exact only while the other is off. Sections that need
# the other one switch it on.
echo 0 >$cpu1
taskset -p 1 $$ >/dev/null
# else the kernel lowers the highest sampling rate, because interrupts are slow in QEMU
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
ci=cycles:u,instructions:u
n=3000000
mkfifo go

one_program() {
	stat_j exact -e $ci -- loop $n
	stat_j twice -e $ci -- loop 6000000
	perf_x perf_exact -e $ci -- loop $n
	stat_j fork -e $ci -- loop $n f
	stat_j fork_alone --no-inherit -e $ci -- loop $n f
	stat_j modifiers -e instructions:u,instructions:k,instructions -- loop $n
	stat_j interval -I 5 -e $ci -- loop $n
	stat_j repeat -r 4 -e $ci -- loop 300000
	stat_j uprobes -e uprobe:/bin/loop:hot,uprobe:/bin/loop:cold,syscalls:sys_enter_exit -- loop 300 f
	stat_j missing -e r10:u,r24:u,instructions:u -- loop $n
	stat_j mux -e r08:u,r08:u,r08:u,r11:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u -- loop 12000000
	perf_x perf_mux -e r08:u,r08:u,r08:u,r11:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u -- loop 12000000
}

trees() {
	stat_j tree -- loop $n
	stat_j tree1 -l 1 -- loop $n
	stat_j tree_repeat -r 3 -- loop 300000
	stat_j tree_interval -I 5 -- loop $n
	stat_j metrics -M ipc,branch_misprediction_ratio,l1d_cache_mpki -- loop $n
	scene tree_term cyclade stat -- loop $n
	scene tree_csv cyclade stat --format csv -- loop $n
	scene tree_markdown cyclade stat --format markdown -- loop $n
	scene run cyclade run -j -o $out/run.json -- loop $n
	mv cyclade.data $out/run.data
	read_it run
	scene doctor cyclade doctor -j
	scene doctor_term cyclade doctor
	scene doctor_perf perf stat -e r08:uD,r08:uD,r08:uD,r08:uD,r08:uD,r08:uD,r08:uD -- loop 3000
}

processes() {
	scene pid on_fifo $n cyclade stat -j -o $out/pid.json -e $ci -p @
	scene tid on_fifo $n cyclade stat -j -o $out/tid.json -e $ci -t @
	scene perf_pid on_fifo $n perf stat -x, -o $out/perf_pid.csv -e $ci -p @
	scene pid_rec on_fifo $n cyclade record -o $out/pid_rec.data -e cycles:u -c 50000 -p @
	read_it pid_rec
}

whole_cpus() {
	echo 1 >$cpu1
	stat_j cpus -a --per cpu -e $ci -- taskset 2 loop $n
	perf_x perf_cpus -a -A -e $ci -- taskset 2 loop $n
	rec cpus_rec -a -e cycles:u -c 50000 -- taskset 2 loop $n
	echo 0 >$cpu1
}

cgroups() {
	cat >both.sh <<-END
		(echo 0 >/sys/fs/cgroup/a/cgroup.procs; exec loop $n) &
		wait
		(echo 0 >/sys/fs/cgroup/b/cgroup.procs; exec loop 300000)
		loop 600000
	END
	# before a controller was switched on by hand, cgroups have no perf_event, either
	mkdir /sys/fs/cgroup/none
	stat_j cgroup_none -a -G none -e $ci -- loop 3000
	scene cgroup_none_rec cyclade record -a -o $out/x.data -G none -e cycles:u -- loop 3000
	echo +pids >/sys/fs/cgroup/cgroup.subtree_control
	mkdir /sys/fs/cgroup/a /sys/fs/cgroup/b
	stat_j cgroup -a -G a,b -e $ci -- sh both.sh
	perf_x perf_cgroup -a --for-each-cgroup a,b -e $ci -- sh both.sh
	rec cgroup_rec -a -G a -e cycles:u -c 50000 -- sh both.sh
}

# A fifth of a CPU: what the kernel counts as throttled, and what recordings of threads and of whole CPUs have.
quota() {
	echo 1 >$cpu1
	echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
	for name in quota quota_cpus; do
		mkdir /sys/fs/cgroup/$name
		echo 20000 100000 >/sys/fs/cgroup/$name/cpu.max
		echo "echo 0 >/sys/fs/cgroup/$name/cgroup.procs; exec taskset 2 loop 12000000" >limited.sh
		scene $name cyclade record $([ $name = quota ] || echo -a) --wait -k mono -o $out/$name.data -- sh limited.sh
		cp /sys/fs/cgroup/$name/cpu.stat $out/$name.stat
		scene $name.report cyclade report --wait -j --comm loop $out/$name.data
	done
	echo 0 >$cpu1
}

recording() {
	rec fixed -e cycles:u -c 50000 -- loop $n
	rec freq -F 20000 -- loop $n
	rec chains -g -e cycles:u -c 50000 -- loop $n
	scene chains.callers cyclade report -i $out/chains.data -g --format folded
	scene chains.frames perf script -i $out/chains.data -F ip,sym
	rec leaf -g -e cycles:u -c 50000 -- loop $n l
	scene perf_leaf perf record -o $out/perf_leaf.data -e cycles:u -c 50000 -g -- loop $n l
	for who in leaf perf_leaf; do
		scene $who.callers cyclade report -i $out/$who.data -g --format folded
		scene $who.frames perf script -i $out/$who.data -F ip,sym
	done
	# rings of one page: periods change only when rings are emptied
	rec jitter --jitter -m 1 -e cycles:u -c 20000 -- loop $n
	scene jitter.periods perf script -i $out/jitter.data -F period
	scene jitter.info cyclade info -j $out/jitter.data
	rec data -d -W -e cycles:u -c 50000 -- loop $n
	rec regs --user-regs -e cycles:u -c 50000 -- loop $n
	rec dwarf -g=dwarf -e cycles:u -c 200000 -- loop $n
	rec fork_rec -e cycles:u -c 50000 -- loop $n f
	rec packed -z -e cycles:u -c 50000 -- loop $n
	rec tracepoints -e syscalls:sys_enter_exit,sched:sched_process_fork -- loop 300 f
	rec mono -k mono -e cycles:u -c 50000 -- loop $n
	rec throttle -e cycles -c 1000 -- loop $n
	scene perf_rec perf record -o $out/perf_rec.data -e cycles:u -c 50000 -g -- loop $n
	read_it perf_rec
	scene perf_rec.frames perf script -i $out/perf_rec.data -F ip,sym
	scene perf_rec.callers cyclade report -i $out/perf_rec.data -g --format folded
}

namespaces() {
	cat >ns.sh <<-END
		mount -t proc proc /proc
		cyclade stat -j -o $out/pidns.json -e $ci -- loop $n
		cyclade record -o $out/pidns_rec.data -e cycles:u -c 50000 -- loop $n
		cyclade report -i $out/pidns_rec.data --format csv --min 0 >$out/pidns_inside.out
		sh -c 'echo \$\$' >$out/pidns.pid
	END
	scene pidns unshare -p -f -m sh ns.sh
	read_it pidns_rec
}

# Somebody else holds N of the six general counters of both CPUs.
hold() {
	local e=r08:uD
	local i=1
	while [ $i -lt $1 ]; do
		e=$e,r08:uD
		i=$((i + 1))
	done
	perf stat -a -e $e -- sleep 1000 2>/dev/null &
	holder=$!
	sleep 0.5
}

holders() {
	hold 5
	stat_j held -e r08:u,r11:u,r10:u -- loop 12000000
	perf_x perf_held -e r08:u,r11:u,r10:u -- loop 12000000
	scene held_doctor cyclade doctor -j
	kill $holder
	wait $holder
	hold 6
	stat_j held_all -e r08:u -- loop $n
	stat_j held_all_tree -- loop $n
	scene held_all_doctor cyclade doctor -j
	kill $holder
	wait $holder
}

hotplug() {
	echo 1 >$cpu1
	cat >plug.sh <<-END
		loop $n
		echo 0 >$cpu1
		loop $n
		echo 1 >$cpu1
		loop $n
	END
	stat_j plug -a --per cpu -e $ci -- sh plug.sh
	stat_j plug_tree -a -- sh plug.sh
	stat_j plug_interval -a -I 10 --per cpu -e $ci -- sh plug.sh
	rec plug_rec -a -e cycles -c 50000 -- sh plug.sh
	echo 0 >$cpu1
	stat_j off -a --per cpu -e $ci -- loop $n
	rec off_rec -a -e cycles -c 50000 -- loop $n
	scene off_doctor cyclade doctor -j
}

# Kernels of which counts are known against what counts here.
validation() {
	export XDG_DATA_HOME=/tmp/data
	local few="loop add walk jump calls branch-always branch-never return-right divide straight fault no-fault"
	scene validate cyclade validate --quick -j $few
	scene validate_all cyclade validate --quick stall_frontend stall_backend cycles
	scene explain_dead cyclade explain STALL_BACKEND
	scene validate_doctor cyclade doctor
	scene validate_term cyclade validate --quick 'stall*' cycles instructions l1d_cache_refill page-faults add fault divide straight
	unset XDG_DATA_HOME
}

for section in ${ONLY:-validation one_program trees processes whole_cpus cgroups quota recording namespaces holders hotplug}; do
	$section
done
