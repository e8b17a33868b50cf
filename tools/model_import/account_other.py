# SPDX-License-Identifier: BSD-3-Clause
"""Cycle accounting of AMD's and Arm's cores, out of the events that Linux knows. Nobody has measured
penalties for them as Levinthal did for Intel's: most here are guesses, and marked `partial`. Those
with a source (SOURCED) are published latencies: `partial`, too, since they say what one costs by
itself, not what it adds beside others. What leaves the core's clock is in nanoseconds.
"""

from .account import Account

CYCLES, NEAR, FAR, L3 = 2000003, 200003, 10007, 100003
GUESS = ('A guess for most machines of its kind; put your own in its place (--penalties).')
# by model and node: penalty, and from where
MANUAL = "The common case in AMD's optimisation manual for %s (%s)."
ROME = 'AnandTech measured %s on an EPYC 7742 (2019).'
LLVM = "What LLVM's scheduling model of it has (AArch64SchedNeoverse%s.td)."
SOURCED = {
    ('zen2', 'Mispredicted'): (16, MANUAL % ('Zen 2', '12 to 18')),
    ('zen4', 'Mispredicted'): (13, MANUAL % ('Zen 4', '11 to 18; publication 57647, 2.8')),
    ('zen2', 'CCX_Hit'): (34, ROME % '34 cycles'),
    ('zen2', 'Local_DRAM'): ('113 ns', ROME % '113 ns'),
    ('neoverse-n1', 'Mispredicted'): (11, LLVM % 'N1'),
    ('neoverse-n2', 'Mispredicted'): (10, LLVM % 'N2'),
    ('neoverse-n2-r0p0', 'Mispredicted'): (10, LLVM % 'N2'),
    ('neoverse-n3', 'Mispredicted'): (10, LLVM % 'N3'),
}
NO_PORTS = 'Its events do not count uops by port.'
ONLY_DIVIDER = ('Only the divider is seen: no CPU counts waiting for chains of other instructions.')
CALLS = 'Three cycles for any call: entry and exit code alone.'


def unseen(a, name, part, note):
    a.put(name, None, part=part, cover='none', note=note)


def guessed(a, name, parent, events, penalty, period, **facts):
    penalty, note = SOURCED.get((a.model.id, name), (penalty, GUESS))
    return a.event(name, parent, events, penalty, period, 0, True, cover='partial', note=note,
                   **facts)


# ---- AMD ----

def amd_whole(a):
    a.event('Cycles', None, 'ls_not_halted_cyc', 1, CYCLES, part='cycles')
    a.reference = a.find(['ls_not_halted_p0_cyc.p0_freq_cyc'])
    if a.reference:
        a.event('Reference_Cycles', 'Cycles', [a.reference], 0, CYCLES, part='info',
                unit='reference cycles')
        a.put('Halted', None, part='halted', cover='partial', whole='', unit='reference cycles',
              expr='max(0, TSC - %s)' % a.reference,
              note='Of a recording of whole CPUs only: the time-stamp counter runs on while a '
                   'processor is halted, the event does not.')
    else:
        unseen(a, 'Halted', 'halted', 'No event of the core counts the reference clock.')
    ops = a.find(['ex_ret_ops', 'ex_ret_cops'])
    a.event('Stalled', None, ['ex_no_retire.all', ops + ':c1:i1'], 1, CYCLES, part='stalled')
    a.put('Unstalled', None, part='unstalled', cover='profile', expr='max(0, Cycles - Stalled)',
          same='Retiring_Cycles')
    a.event('Retiring_Cycles', 'Unstalled', [ops + ':c1'], 1, CYCLES)
    a.event('Instructions', None, 'ex_ret_instr', 0, CYCLES, part='info', unit='instructions')
    a.event('Uops_Retired', None, [ops], 0, CYCLES, part='info', unit='ops')
    a.event('Branches', None, 'ex_ret_brn', 0, NEAR, part='info', unit='branches')
    a.event('Taken_Branches', 'Branches', 'ex_ret_brn_tkn', 0, NEAR, unit='branches')
    a.event('Returns', 'Branches', 'ex_ret_near_ret', 0, NEAR, unit='returns')
    return ops


def amd_loads(a, l3):
    b = 'Load_Latency'
    a.put(b, None, part='stalled', cover='partial', within='Load_Pending',
          note='Fills of the data cache times a guess of what each costs; stores ask for lines, too. '
               'IBS op samples tell the latency of each load.')
    fill = lambda *names: ' '.join(p + n for n in names for p in
                                   ('ls_dmnd_fills_from_sys.', 'ls_refills_from_sys.ls_mabresp_'))
    for name, events, penalty, period in (
            ('Local_DRAM', fill('dram_io_near', 'mem_io_local', 'lcl_dram'), '90 ns', FAR),
            ('Remote_DRAM', fill('dram_io_far', 'mem_io_remote', 'rmt_dram'), '150 ns', FAR),
            ('Far_Memory', fill('alternate_memories'), '240 ns', FAR),
            ('Remote_Cache_Hit', fill('far_cache', 'ext_cache_remote', 'rmt_cache'), '135 ns', FAR),
            ('Other_CCX_Cache', fill('near_cache', 'ext_cache_local'), '75 ns', FAR),
            ('CCX_Hit', fill('local_ccx', 'int_cache', 'lcl_cache'), l3, L3),
            ('L2_Hit', fill('local_l2', 'lcl_l2'), 6, NEAR)):
        guessed(a, name, b, events, penalty, period)
    a.put('DTLB', b, cover='partial', adds='', note=GUESS)
    guessed(a, 'DTLB_STLB_Hit', 'DTLB', 'ls_l1_d_tlb_miss.all:u0x0f', 7, NEAR)
    guessed(a, 'DTLB_Walks', 'DTLB', 'ls_l1_d_tlb_miss.all_l2_miss ls_l1_d_tlb_miss.all:u0xf0', 30,
            NEAR)
    guessed(a, 'Blocked_Forwarding', b, 'ls_bad_status2.stli_other', 13, L3)
    a.event('Forwarded_Loads', b, 'ls_stlf', 0, CYCLES, unit='loads')
    a.event('Load_Pending', b, 'ex_no_retire.load_not_complete ls_alloc_mab_count:c1', 1, CYCLES)


def amd_front(a, width):
    b = 'Instruction_Starvation'
    a.put(b, None, part='stalled')
    a.event('Op_Queue_Empty', b, 'de_op_queue_empty de_dis_uop_queue_empty_di0 '
            'ic_fetch_stall.ic_stall_dq_empty', 1, CYCLES, 0, True)
    a.event('Dispatch_Starved', b, 'de_no_dispatch_per_slot.no_ops_from_frontend',
            '%.9g' % (1 / width), CYCLES)
    inner = {'cover': 'partial', 'within': 'Op_Queue_Empty', 'note':
             'Rebuilt from misses; its cycles are among those of Op_Queue_Empty, so it is not added.'}
    a.put('Code_Fetch', b, **inner)
    guessed(a, 'Code_Beyond_L2', 'Code_Fetch', 'ic_cache_fill_sys', 50, L3)
    guessed(a, 'Code_From_L2', 'Code_Fetch', 'ic_cache_fill_l2', 8, NEAR)
    a.put('ITLB', b, **inner)
    guessed(a, 'ITLB_STLB_Hit', 'ITLB', 'bp_l1_tlb_miss_l2_tlb_hit bp_l1_tlb_miss_l2_hit', 7, NEAR)
    guessed(a, 'ITLB_Walks', 'ITLB', 'bp_l1_tlb_miss_l2_tlb_miss.all bp_l1_tlb_miss_l2_tlb_miss', 30,
            NEAR)
    a.event('Op_Cache_Misses', b, 'op_cache_hit_miss.op_cache_miss', 0, NEAR, unit='fetches')
    a.event('Fetch_Stalls', b, 'ic_fetch_stall.ic_stall_any', 1, CYCLES)


def amd_rest(a, width, ops):
    t = ['de_dis_dispatch_token_stalls%d.' % i for i in range(3)]
    a.put('Instruction_Latency', None, part='stalled', cover='partial', note=ONLY_DIVIDER)
    a.event('Divider_Active', 'Instruction_Latency', 'ex_div_busy', 1, CYCLES, 0, True)
    a.event('Divisions', 'Instruction_Latency', 'ex_div_count', 0, NEAR, unit='divisions')
    a.event('Retire_Queue_Full', 'Instruction_Latency', [t[0] + 'retire_token_stall',
                                                         t[2] + 'retire_token_stall'], 1, CYCLES)
    a.event('Load_Queue_Full', 'Instruction_Latency', [t[1] + 'load_queue_token_stall',
                                                       t[1] + 'load_queue_rsrc_stall'], 1, CYCLES)
    a.event('FP_Scheduler_Full', 'Instruction_Latency', [t[1] + 'fp_sch_rsrc_stall'], 1, CYCLES)
    a.put('Store_Resources', None, part='stalled')
    a.event('Store_Queue_Full', 'Store_Resources', [t[1] + 'store_queue_token_stall',
                                                    t[1] + 'store_queue_rsrc_stall'], 1, CYCLES, 0,
            True)
    a.put('Thread_Collisions', None, part='stalled', smt='')
    a.event('Dispatch_Contention', 'Thread_Collisions', 'de_no_dispatch_per_slot.smt_contention',
            '%.9g' % (1 / width), CYCLES, 0, True)
    b = 'Branch_Misprediction'
    a.put(b, None, part='stalled', cover='partial', note=GUESS)
    guessed(a, 'Mispredicted', b, 'ex_ret_brn_misp', 13, NEAR)
    guessed(a, 'Not_Predicted', b, 'bp_de_redirect', 6, NEAR)
    issued = a.find(['de_src_op_disp.all', 'uops_dispatched'])
    d = 'de_dis_cops_from_decoder.disp_op_type.'
    if not issued and d + 'any_fp_dispatch' in a.events:
        issued = '(%sany_integer_dispatch + %sany_fp_dispatch)' % (d, d)
    if issued:
        a.put('Wrong_Path', b, cover='profile', adds='',
              expr='max(0, %s - %s) / %d' % (issued, ops, width))
    unseen(a, 'Lock_Acquisition', 'stalled', 'No event counts cycles of locks here; IBS op samples '
           'tell the latency of locked ones.')
    a.event('Bus_Locks', 'Lock_Acquisition', 'ls_locks.bus_lock', 0, FAR, unit='locks')
    a.put('Underutilisation', None, part='unstalled', cover='profile',
          expr='max(0, %d * Retiring_Cycles - %s) / %d' % (width, ops, width))
    unseen(a, 'Port_Saturation', 'unstalled', NO_PORTS)
    a.put('Call_Overhead', None, part='unstalled', cover='partial', note=CALLS)
    a.event('Calls', 'Call_Overhead', 'ex_ret_near_ret', 3, NEAR, 0, True,
            note='Counted by their returns.')
    unseen(a, 'Serialisation', 'unstalled', 'No event counts it.')
    a.put('Exceptions_Microcode', None, part='unstalled', cover='partial',
          note='Microcode by the slots that its ops take, not by how long it is active.')
    a.event('Microcode_Uops', 'Exceptions_Microcode', 'ex_ret_ucode_ops', '%.9g' % (1 / width), CYCLES,
            0, True)
    a.event('Interrupts', 'Exceptions_Microcode', 'ls_int_taken', 0, 1009, unit='interrupts')
    a.event('Resyncs', 'Exceptions_Microcode', 'resyncs_or_nc_redirects bp_redirects.resync '
            'ex_ret_brn_resync', 0, FAR, unit='times')


def amd(models):
    for z in range(1, 6):
        m = models['zen%d' % z]
        a = Account(m)
        width = int(m.facts['width'])
        ops = amd_whole(a)
        amd_loads(a, 40 if z < 3 else 46 if z == 3 else 50)
        unseen(a, 'Bandwidth_Saturated', 'stalled', 'No event of the core tells how many reads are on '
               'their way; those of the memory controllers count for all cores.')
        if 'ls_alloc_mab_count' in a.events:
            a.put('Misses_In_Flight', 'Bandwidth_Saturated', cover='profile',
                  expr='ls_alloc_mab_count / ls_alloc_mab_count:c1', unit='lines at a time')
        amd_front(a, width)
        amd_rest(a, width, ops)
        a.finish()
        a.base = {2: 'zen1', 3: 'zen2', 4: 'zen3', 5: 'zen4'}.get(z)
        a.sources = m.sources
        a.penalties_from = 'guesses, where a penalty is not 1 and its note names no source'
        yield a


# ---- Arm ----

# Slots a cycle as the vendor's telemetry files have them; others ask the kernel, which a recording
# need not tell.
ARM = {'neoverse-n1': None, 'neoverse-v1': 8, 'neoverse-n2-r0p0': 5, 'neoverse-n2': 5,
       'neoverse-v2': 8, 'neoverse-n3': None, 'neoverse-v3': None, 'arm-generic': None}


def arm_begin(a):
    a.event('Cycles', None, 'CPU_CYCLES', 1, CYCLES, part='cycles')
    a.reference = a.find(['CNT_CYCLES'])
    if a.reference:
        a.event('Reference_Cycles', 'Cycles', [a.reference], 0, CYCLES, part='info',
                unit='reference cycles')
    unseen(a, 'Halted', 'halted', 'No event counts it.')
    if not a.event('Stalled', None, 'STALL', 1, CYCLES, part='stalled'):
        a.put('Stalled', None, part='stalled', expr='STALL_FRONTEND + STALL_BACKEND')
    a.put('Unstalled', None, part='unstalled', cover='profile', expr='max(0, Cycles - Stalled)')
    a.event('Instructions', None, 'INST_RETIRED', 0, CYCLES, part='info', unit='instructions')
    a.event('Uops_Retired', None, 'OP_RETIRED', 0, CYCLES, part='info', unit='ops')
    a.event('Branches', None, 'BR_RETIRED', 0, NEAR, part='info', unit='branches')


def arm_one(m, width):
    a = Account(m)
    arm_begin(a)
    b = 'Load_Latency'
    a.put(b, None, part='stalled', cover='partial', within='Memory_Stalls',
          note='Refills times a guess of what each adds to those before it. SPE samples tell the '
               'latency of each load.')
    guessed(a, 'Beyond_L3', b, 'LL_CACHE_MISS_RD', '70 ns', FAR)
    guessed(a, 'Beyond_L2', b, 'L2D_CACHE_REFILL_RD L2D_CACHE_REFILL', 30, L3)
    guessed(a, 'Beyond_L1', b, 'L1D_CACHE_REFILL_RD L1D_CACHE_REFILL', 6, NEAR)
    a.put('DTLB', b, cover='partial', adds='', note=GUESS)
    guessed(a, 'DTLB_STLB_Hit', 'DTLB', 'L1D_TLB_REFILL_RD L1D_TLB_REFILL', 6, NEAR)
    guessed(a, 'DTLB_Walks', 'DTLB', 'DTLB_WALK', 30, NEAR)
    if not a.event('Memory_Stalls', b, 'STALL_BACKEND_MEM', 1, CYCLES):
        a.event('Memory_Stalls', b, 'STALL_BACKEND', 1, CYCLES)
    unseen(a, 'Bandwidth_Saturated', 'stalled', 'No event of the core tells how many reads are on '
           'their way.')
    b = 'Instruction_Starvation'
    a.put(b, None, part='stalled')
    a.event('Front_End_Stalls', b, 'STALL_FRONTEND', 1, CYCLES, 0, True)
    inner = {'cover': 'partial', 'within': 'Front_End_Stalls', 'note':
             'Rebuilt from misses; its cycles are among those of Front_End_Stalls, so it is not '
             'added.'}
    a.put('Code_Fetch', b, **inner)
    guessed(a, 'Code_Beyond_L1', 'Code_Fetch', 'L1I_CACHE_REFILL', 8, NEAR)
    a.put('ITLB', b, **inner)
    guessed(a, 'ITLB_STLB_Hit', 'ITLB', 'L1I_TLB_REFILL', 6, NEAR)
    guessed(a, 'ITLB_Walks', 'ITLB', 'ITLB_WALK', 30, NEAR)
    a.put('Instruction_Latency', None, part='stalled', cover='partial', expr='max(0, STALL_BACKEND - '
          'STALL_BACKEND_MEM)' if 'STALL_BACKEND_MEM' in a.events else None,
          note='Stalls of the back end that are not of memory: latency, and resources that ran out.')
    unseen(a, 'Store_Resources', 'stalled', 'No event counts it; it is among the stalls of the back '
           'end.')
    unseen(a, 'Thread_Collisions', 'stalled', 'These cores have one thread.')
    b = 'Branch_Misprediction'
    a.put(b, None, part='stalled', cover='partial', note=GUESS)
    guessed(a, 'Mispredicted', b, 'BR_MIS_PRED_RETIRED BR_MIS_PRED', 11, NEAR)
    if width and a.find(['OP_SPEC']) and a.find(['OP_RETIRED']):
        a.put('Wrong_Path', b, cover='profile', adds='',
              expr='max(0, OP_SPEC - OP_RETIRED) / %d' % width)
    unseen(a, 'Lock_Acquisition', 'stalled', 'No event counts cycles of locks here.')
    if width and 'STALL_SLOT' in a.events:
        a.put('Underutilisation', None, part='unstalled', cover='profile',
              expr='max(0, %s / %d - Stalled)' % (
                  '(STALL_SLOT - CPU_CYCLES)' if m.id == 'neoverse-n2-r0p0' else 'STALL_SLOT', width),
              # it counts one more each cycle, as the metrics of this revision have it
              note='One slot a cycle is counted too many on this revision, and taken away.'
              if m.id == 'neoverse-n2-r0p0' else None)
    else:
        unseen(a, 'Underutilisation', 'unstalled', 'Its slots are not counted, or how many a cycle '
               'has is not known here.')
    unseen(a, 'Port_Saturation', 'unstalled', NO_PORTS)
    a.put('Call_Overhead', None, part='unstalled', cover='partial', note=CALLS)
    a.event('Calls', 'Call_Overhead', 'BR_RETURN_RETIRED BR_RETURN_SPEC', 3, NEAR, 0, True,
            note='Counted by their returns.')
    unseen(a, 'Serialisation', 'unstalled', 'No event counts its cycles.')
    a.event('Barriers', 'Serialisation', 'ISB_SPEC', 0, L3, unit='barriers')
    unseen(a, 'Exceptions_Microcode', 'unstalled', 'No event counts its cycles.')
    a.event('Exceptions', 'Exceptions_Microcode', 'EXC_TAKEN', 0, 10007, unit='exceptions')
    a.finish()
    if 'expr' in a.nodes['Instruction_Latency'] and not a.nodes['Instruction_Latency']['expr']:
        del a.nodes['Instruction_Latency']['expr']
    return a


def ampere_one(m):
    """AmpereOne counts dispatch stalls by reason: little has to be guessed."""
    a = Account(m)
    arm_begin(a)
    b = 'Load_Latency'
    a.put(b, None, part='stalled', within='Memory_Stalls')
    a.event('Cache_Stalls', b, 'STALL_BACKEND_CACHE', 1, CYCLES, 0, True)
    a.event('TLB_Stalls', b, 'STALL_BACKEND_TLB', 1, CYCLES, 0, True)
    a.event('Memory_Stalls', b, 'STALL_BACKEND_MEM STALL_BACKEND', 1, CYCLES)
    a.event('Load_Queue_Full', b, 'IDR_STALL_LOB_ID', 1, CYCLES)
    unseen(a, 'Bandwidth_Saturated', 'stalled', 'No event of the core tells how many reads are on '
           'their way.')
    b = 'Instruction_Starvation'
    a.put(b, None, part='stalled')
    a.event('Front_End_Stalls', b, 'STALL_FRONTEND', 1, CYCLES, 0, True)
    inside = {'within': 'Front_End_Stalls', 'note': 'Among Front_End_Stalls, so it is not added.'}
    a.event('Code_Cache_Stalls', b, 'STALL_FRONTEND_CACHE', 1, CYCLES, **inside)
    a.event('Code_TLB_Stalls', b, 'STALL_FRONTEND_TLB', 1, CYCLES, **inside)
    b = 'Instruction_Latency'
    a.put(b, None, part='stalled', cover='partial', note=ONLY_DIVIDER)
    a.event('Divider_Active', b, 'FSU_DIV_SQRT_STALL', 1, CYCLES, 0, True)
    a.event('Retire_Queue_Full', b, 'IDR_STALL_ROB_ID', 1, CYCLES)
    a.event('FP_Scheduler_Full', b, 'IDR_STALL_FSU_SCHED', 1, CYCLES)
    a.put('Store_Resources', None, part='stalled')
    a.event('Store_Queue_Full', 'Store_Resources', 'IDR_STALL_SOB_ID', 1, CYCLES, 0, True)
    unseen(a, 'Thread_Collisions', 'stalled', 'These cores have one thread.')
    b = 'Branch_Misprediction'
    a.put(b, None, part='stalled', cover='partial', note='Flushes of other kinds are among them.')
    a.event('Flush_Stalls', b, 'IDR_STALL_FLUSH', 1, CYCLES, 0, True)
    a.event('Mispredicted', b, 'BR_MIS_PRED_RETIRED BR_MIS_PRED', 0, NEAR, unit='branches')
    unseen(a, 'Lock_Acquisition', 'stalled', 'No event counts cycles of locks here.')
    unseen(a, 'Underutilisation', 'unstalled', 'How many slots a cycle has is not known here.')
    unseen(a, 'Port_Saturation', 'unstalled', NO_PORTS)
    a.put('Call_Overhead', None, part='unstalled', cover='partial', note=CALLS)
    a.event('Calls', 'Call_Overhead', 'BR_RETURN_RETIRED BR_RETURN_SPEC', 3, NEAR, 0, True,
            note='Counted by their returns.')
    unseen(a, 'Serialisation', 'unstalled', 'No event counts its cycles.')
    unseen(a, 'Exceptions_Microcode', 'unstalled', 'No event counts its cycles.')
    a.event('Exceptions', 'Exceptions_Microcode', 'EXC_TAKEN', 0, 10007, unit='exceptions')
    a.finish()
    return a


def arm(models):
    for ident in ('ampereone', 'ampereonex'):
        a = ampere_one(models[ident])
        a.base = 'ampereone' if ident == 'ampereonex' else None
        a.sources = models[ident].sources
        a.penalties_from = ('stalls that the core counts' if ident.startswith('ampere') else
                            'guesses, where a penalty is not 1 and its note names no source')
        yield a
    bases = {'neoverse-v1': 'neoverse-n2', 'neoverse-n2-r0p0': 'neoverse-n2',
             'neoverse-v2': 'neoverse-n2', 'neoverse-n1': 'neoverse-n2',
             'neoverse-n3': 'neoverse-n2', 'neoverse-v3': 'neoverse-n3'}
    for ident, width in ARM.items():
        if ident not in models:
            continue
        a = arm_one(models[ident], width)
        a.base = bases.get(ident)
        a.sources = models[ident].sources
        a.penalties_from = ('stalls that the core counts' if ident.startswith('ampere') else
                            'guesses, where a penalty is not 1 and its note names no source')
        yield a
