# SPDX-License-Identifier: BSD-3-Clause
"""Cycle accounting of Intel's small cores. They count lost slots and stalls by reason, so that little
has to be rebuilt from penalties: a slot costs a cycle by the width of the core."""

from .account import Account

CYCLES, NEAR = 2000003, 200003
IDS = ['adl-grt', 'mtl-cmt', 'arl-cmt', 'srf', 'grr', 'lnl-skt', 'arl-skt', 'ptl-dkt', 'cwf',
       'nvl-arw', 'ehl', 'snr']
BASES = {'arl-cmt': 'mtl-cmt', 'srf': 'mtl-cmt', 'grr': 'srf', 'arl-skt': 'lnl-skt',
         'ptl-dkt': 'lnl-skt', 'cwf': 'ptl-dkt', 'nvl-arw': 'ptl-dkt', 'snr': 'ehl',
         'mtl-cmt': 'adl-grt', 'lnl-skt': 'mtl-cmt'}


def branch_unseen(a, name, part, note):
    a.put(name, None, part=part, cover='none', note=note)


def begin(a):
    a.event('Cycles', None, 'CPU_CLK_UNHALTED.CORE CPU_CLK_UNHALTED.THREAD', 1, CYCLES, part='cycles')
    a.reference = a.find(['CPU_CLK_UNHALTED.REF_TSC'])
    a.event('Reference_Cycles', 'Cycles', [a.reference], 0, CYCLES, part='info',
            unit='reference cycles')
    a.put('Halted', None, part='halted', cover='partial', whole='', unit='reference cycles',
          expr='max(0, TSC - %s)' % a.reference,
          note='Of a recording of whole CPUs only: the time-stamp counter runs on while a processor '
               'is halted, the event does not.')


def slots(a, name, parent, events, width, **facts):
    return a.event(name, parent, events, '%.9g' % (1 / width), CYCLES, 0, True, **facts)


def lost(a, width):
    """Cycles in which slots were lost, by the three reasons of the top level."""
    terms = []
    for names in ('TOPDOWN_FE_BOUND.ALL', 'TOPDOWN_BAD_SPECULATION.ALL', 'TOPDOWN_BE_BOUND.ALL'):
        e = a.find([names, names + '_P'])
        if e:
            terms.append(e)
    if len(terms) == 3:
        a.put('Stalled', None, part='stalled', cover='profile',
              expr='(%s) / %d' % (' + '.join(terms), width),
              note='Lost slots by the width of the core, not cycles without any progress.')
        a.put('Unstalled', None, part='unstalled', cover='profile', expr='max(0, Cycles - Stalled)',
              note='Used slots by the width of the core.', same='Retired_Width')
        e = a.find(['UOPS_RETIRED.ALL', 'TOPDOWN_RETIRING.ALL'])
        a.event('Retired_Width', 'Unstalled', [e], '%.9g' % (1 / width), CYCLES)


def load_latency(a):
    b = 'Load_Latency'
    a.put(b, None, part='stalled')
    for name, events in (
            ('L2_Hit_Stalls', 'MEM_BOUND_STALLS_LOAD.L2_HIT MEM_BOUND_STALLS.LOAD_L2_HIT'),
            ('L3_Hit_Stalls', 'MEM_BOUND_STALLS_LOAD.LLC_HIT MEM_BOUND_STALLS.LOAD_LLC_HIT'),
            ('DRAM_Stalls', 'MEM_BOUND_STALLS_LOAD.LLC_MISS MEM_BOUND_STALLS.LOAD_DRAM_HIT'),
            ('DTLB_Miss_Stalls', 'LD_HEAD.DTLB_MISS_AT_RET'), ('DTLB_Walk_Stalls', 'LD_HEAD.PGWALK_AT_RET'),
            ('Blocked_Forwarding_Stalls', 'LD_HEAD.ST_ADDR_AT_RET')):
        a.event(name, b, events, 1, CYCLES, 0, True)
    if not any(a.has(x) for x in ('L2_Hit_Stalls', 'DRAM_Stalls')):
        a.event('L1_Miss_Stalls', b, 'LD_HEAD.L1_MISS_AT_RET', 1, CYCLES, 0, True)
    a.event('Load_Pending', b, 'LD_HEAD.ANY_AT_RET', 1, CYCLES)
    if a.has('Load_Pending'):
        a.nodes[b]['within'] = 'Load_Pending'
    a.event('Loads', b, 'MEM_UOPS_RETIRED.ALL_LOADS', 0, CYCLES, 0, unit='loads')
    a.event('L1_Hit', b, 'MEM_LOAD_UOPS_RETIRED.L1_HIT', 0, CYCLES, 2, unit='loads')
    parts = [a.find(['MEM_LOAD_UOPS_RETIRED.' + x]) for x in ('L1_HIT', 'L1_MISS')]
    if a.has('Loads') and all(parts):
        a.put('Loads_By_Source', b, expr=' + '.join(parts), unit='loads', same='Loads',
              tolerance='0.1')


def front_end(a, width):
    b = 'Instruction_Starvation'
    fe = 'TOPDOWN_FE_BOUND.'
    a.put(b, None, part='stalled')
    slots(a, 'Code_Fetch_Slots', b, fe + 'ICACHE', width)
    slots(a, 'ITLB_Slots', b, fe + 'ITLB_MISS ' + fe + 'ITLB', width)
    slots(a, 'Decode_Slots', b, fe + 'DECODE', width)
    slots(a, 'Predecode_Slots', b, fe + 'PREDECODE', width)
    slots(a, 'Front_End_Other_Slots', b, fe + 'OTHER', width)
    a.event('Code_Fetch_Stalls', b, 'MEM_BOUND_STALLS_IFETCH.ALL MEM_BOUND_STALLS.IFETCH', 1, CYCLES)


def others(a, width):
    be, fe, bad = 'TOPDOWN_BE_BOUND.', 'TOPDOWN_FE_BOUND.', 'TOPDOWN_BAD_SPECULATION.'
    a.put('Instruction_Latency', None, part='stalled', cover='partial', note='Only the divider is '
          'seen: no CPU counts waiting for chains of other instructions.')
    a.event('Divider_Active', 'Instruction_Latency', 'ARITH.DIV_ACTIVE CYCLES_DIV_BUSY.ANY', 1, CYCLES,
            0, True)
    a.put('Store_Resources', None, part='stalled')
    a.event('Store_Buffer_Full', 'Store_Resources', 'MEM_SCHEDULER_BLOCK.ST_BUF '
            'MEM_BOUND_STALLS.STORE_BUFFER_FULL MEM_BOUND_STALLS_LOAD.SBFULL', 1, CYCLES, 0, True)
    a.event('Stores', 'Store_Resources', 'MEM_UOPS_RETIRED.ALL_STORES', 0, CYCLES, unit='stores')
    a.put('Branch_Misprediction', None, part='stalled')
    slots(a, 'Wrong_Path_Slots', 'Branch_Misprediction', bad + 'MISPREDICT', width)
    slots(a, 'Not_Predicted_Slots', 'Branch_Misprediction', fe + 'BRANCH_DETECT', width)
    slots(a, 'Resteer_Slots', 'Branch_Misprediction', fe + 'BRANCH_RESTEER', width)
    a.event('Mispredicted', 'Branch_Misprediction', 'BR_MISP_RETIRED.ALL_BRANCHES', 0, NEAR, 1,
            unit='branches')
    branch_unseen(a, 'Lock_Acquisition', 'stalled', 'No event counts cycles of locks here.')
    a.event('Locked_Loads', 'Lock_Acquisition', 'MEM_UOPS_RETIRED.LOCK_LOADS', 0, NEAR, 2,
            unit='loads')
    branch_unseen(a, 'Underutilisation', 'unstalled', 'Slots are counted whole: Unstalled is made of '
                  'used ones, so nothing of them is left unused.')
    branch_unseen(a, 'Port_Saturation', 'unstalled', 'Not all of its ports are counted.')
    a.put('Call_Overhead', None, part='unstalled', cover='partial', note='Three cycles for any call, '
          'as of the large cores: entry and exit code alone.')
    a.event('Calls', 'Call_Overhead', 'BR_INST_RETIRED.NEAR_CALL BR_INST_RETIRED.CALL', 3, NEAR, 1,
            True)
    a.put('Serialisation', None, part='unstalled')
    slots(a, 'Serialisation_Slots', 'Serialisation', be + 'SERIALIZATION', width)
    a.put('Exceptions_Microcode', None, part='unstalled')
    slots(a, 'Machine_Clear_Slots', 'Exceptions_Microcode', bad + 'MACHINE_CLEARS', width)
    slots(a, 'Microcode_Slots', 'Exceptions_Microcode', fe + 'CISC', width)
    a.event('Microcode_Uops', 'Exceptions_Microcode', 'UOPS_RETIRED.MS', 0, CYCLES, unit='uops')


def goldmont(m):
    """Goldmont counts cycles of fetch and of page walks, and lost slots without reasons."""
    a = Account(m)
    width = int(m.facts['width'])
    guess = {'cover': 'partial', 'note': 'A guess; put your own in its place (--penalties).'}
    begin(a)
    a.put('Stalled', None, part='stalled', cover='profile',
          expr='(UOPS_NOT_DELIVERED.ANY + ISSUE_SLOTS_NOT_CONSUMED.ANY) / %d' % width,
          note='Lost slots by the width of the core, not cycles without any progress.')
    a.put('Unstalled', None, part='unstalled', cover='profile', expr='max(0, Cycles - Stalled)',
          note='Used slots by the width of the core.')
    a.event('Retired_Width', 'Unstalled', 'UOPS_RETIRED.ANY', '%.9g' % (1 / width), CYCLES)
    a.event('Instructions', None, 'INST_RETIRED.ANY', 0, CYCLES, part='info', unit='instructions')
    a.event('Branches', None, 'BR_INST_RETIRED.ALL_BRANCHES', 0, NEAR, 1, part='info',
            unit='branches')
    a.event('Taken_Branches', 'Branches', 'BR_INST_RETIRED.ALL_TAKEN_BRANCHES', 0, NEAR, 1,
            unit='branches')
    b = 'Load_Latency'
    a.put(b, None, part='stalled', cover='partial', note='Loads by a guess of what each costs.')
    a.event('Local_DRAM', b, 'MEM_LOAD_UOPS_RETIRED.DRAM_HIT', '200 ref' if a.reference else '90 ns', 10007, 2, True, **guess)
    a.event('Local_HitM', b, 'MEM_LOAD_UOPS_RETIRED.HITM', 60, 10007, 2, True, **guess)
    a.event('L2_Hit', b, 'MEM_LOAD_UOPS_RETIRED.L2_HIT', 10, NEAR, 2, True, **guess)
    a.event('DTLB_Walk_Cycles', b, 'DTLB_LOAD_MISSES.WALK_PENDING PAGE_WALKS.D_SIDE_CYCLES', 1,
            CYCLES, 0, True)
    a.event('Blocked_Forwarding', b, 'LD_BLOCKS.STORE_FORWARD', 10, NEAR, 2, True, **guess)
    a.event('L1_Hit', b, 'MEM_LOAD_UOPS_RETIRED.L1_HIT', 0, CYCLES, 2, unit='loads')
    a.event('Loads', b, 'MEM_UOPS_RETIRED.ALL_LOADS', 0, CYCLES, 0, unit='loads')
    a.put('Loads_By_Source', b, expr='MEM_LOAD_UOPS_RETIRED.L1_HIT + MEM_LOAD_UOPS_RETIRED.L1_MISS',
          unit='loads', same='Loads', tolerance='0.1')
    branch_unseen(a, 'Bandwidth_Saturated', 'stalled', 'No event of the core tells how many reads are '
                  'on their way.')
    b = 'Instruction_Starvation'
    a.put(b, None, part='stalled')
    a.event('Code_Fetch_Stalls', b, 'FETCH_STALL.ICACHE_FILL_PENDING_CYCLES', 1, CYCLES, 0, True)
    a.event('Code_TLB_Stalls', b, 'FETCH_STALL.ITLB_FILL_PENDING_CYCLES', 1, CYCLES, 0, True)
    a.event('Fetch_Stalls', b, 'FETCH_STALL.ALL', 1, CYCLES)
    a.nodes[b]['within'] = 'Fetch_Stalls'
    a.put('Instruction_Latency', None, part='stalled', cover='partial', note='Only the divider is '
          'seen: no CPU counts waiting for chains of other instructions.')
    a.event('Divider_Active', 'Instruction_Latency', 'CYCLES_DIV_BUSY.ALL', 1, CYCLES, 0, True)
    branch_unseen(a, 'Store_Resources', 'stalled', 'No event counts it; it is among the slots lost '
                  'to full resources.')
    branch_unseen(a, 'Thread_Collisions', 'stalled', 'These cores have one thread.')
    b = 'Branch_Misprediction'
    a.put(b, None, part='stalled', cover='partial', note='Slots lost while recovering; what was '
          'issued in vain is not seen.')
    slots(a, 'Resteer_Slots', b, 'ISSUE_SLOTS_NOT_CONSUMED.RECOVERY', width)
    a.event('Mispredicted', b, 'BR_MISP_RETIRED.ALL_BRANCHES', 0, NEAR, 1, unit='branches')
    branch_unseen(a, 'Lock_Acquisition', 'stalled', 'No event counts cycles of locks here.')
    a.event('Locked_Loads', 'Lock_Acquisition', 'MEM_UOPS_RETIRED.LOCK_LOADS', 0, NEAR, 2,
            unit='loads')
    branch_unseen(a, 'Underutilisation', 'unstalled', 'Slots are counted whole: Unstalled is made of '
                  'used ones, so nothing of them is left unused.')
    branch_unseen(a, 'Port_Saturation', 'unstalled', 'Its ports are not counted.')
    a.put('Call_Overhead', None, part='unstalled', cover='partial', note='Three cycles for any call, '
          'as of the large cores: entry and exit code alone.')
    a.event('Calls', 'Call_Overhead', 'BR_INST_RETIRED.CALL', 3, NEAR, 1, True)
    branch_unseen(a, 'Serialisation', 'unstalled', 'No event counts its cycles.')
    branch_unseen(a, 'Exceptions_Microcode', 'unstalled', 'No event counts its cycles.')
    a.event('Microcode_Uops', 'Exceptions_Microcode', 'UOPS_RETIRED.MS', 0, CYCLES, unit='uops')
    a.event('Clears', 'Exceptions_Microcode', 'MACHINE_CLEARS.ALL', 0, 20011, unit='clears')
    a.finish()
    a.base = 'glp' if m.id == 'glm' else None
    a.penalties_from = 'guesses, where a penalty is not 1'
    a.sources = [s for s in m.sources if 'events' in s]
    return a


def make(m):
    a = Account(m)
    width = int(m.facts['width'])
    begin(a)
    lost(a, width)
    a.event('Instructions', None, 'INST_RETIRED.ANY', 0, CYCLES, part='info', unit='instructions')
    a.event('Branches', None, 'BR_INST_RETIRED.ALL_BRANCHES', 0, NEAR, 1, part='info',
            unit='branches')
    a.event('Taken_Branches', 'Branches', 'BR_INST_RETIRED.NEAR_TAKEN', 0, NEAR, 1, unit='branches')
    load_latency(a)
    branch_unseen(a, 'Bandwidth_Saturated', 'stalled', 'No event of the core tells how many reads are '
                  'on their way.')
    front_end(a, width)
    branch_unseen(a, 'Thread_Collisions', 'stalled', 'These cores have one thread.')
    others(a, width)
    a.finish()
    a.base = BASES.get(m.id)
    a.penalties_from = 'slots and stalls that the core counts; a slot costs a cycle by the width'
    a.sources = [s for s in m.sources if 'events' in s]
    return a


def accounts(models):
    for ident in IDS:
        yield make(models[ident])
    for ident in ('glp', 'glm'):
        yield goldmont(models[ident])
