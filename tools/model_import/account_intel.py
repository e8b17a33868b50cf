# SPDX-License-Identifier: BSD-3-Clause
"""Cycle accounting of Intel's large cores.

Westmere to Haswell: penalties, sampling periods and what adds to what come from the trees of
Levinthal's Gooda (gooda-trees/*.csv), events from perfmon: where encodings disagree perfmon is
believed and a remark stands beside the node. From Skylake on: the formulas of his later guidance
for Skylake-SP; what comes after carries these on, and says so.
"""

import csv
import os
import re

from .account import Account, terms, with_options

CYCLES, UOPS = 2000003, 2000003
FAR, L3, NEAR, RING = 10007, 100003, 200003, 20011
PRIME = {20003: 20011}      # a period of the trees that is none

# The node of an event of the trees: libpfm4's name without its unit mask's spelling.
TREE = {
    'unhalted_core_cycles': 'Cycles', 'cpu_clk_unhalted:ref_p': 'Reference_Bus_Cycles',
    'cpu_clk_unhalted:ref_xclk': 'Reference_Bus_Cycles', 'cpl_cycles:ring123': 'User_Cycles',
    'cpl_cycles:ring0': 'Kernel_Cycles', 'cpl_cycles:ring0_trans': 'Kernel_Entries',
    'cpl_cycles_ring0_trans': 'Kernel_Entries', 'uops_retired:stall_cycles': 'Stalled',
    'instruction_retired': 'Instructions', 'inst_retired:prec_dist': 'Instructions_Precise',
    'uops_retired:any': 'Uops_Retired', 'br_inst_retired:near_return': 'Returns',
    'br_inst_retired:near_taken': 'Taken_Branches',
    'rob_misc_events:lbr_inserts': 'Branch_Records',
    # load latency
    'mem_uncore_retired:local_dram_and_remote_cache_hit': 'Local_DRAM',
    'mem_uncore_retired:remote_dram': 'Remote_DRAM',
    'mem_load_retired:llc_unshared_hit': 'L3_Hit',
    'mem_uncore_retired:other_llc_miss': 'L3_Miss_Other',
    'mem_uncore_retired:remote_hitm': 'Remote_HitM',
    'mem_uncore_retired:local_hitm': 'Local_HitM',
    'mem_load_retired:other_core_l2_hit_hitm': 'L3_Snoop',
    'mem_load_retired:l2_hit': 'L2_Hit', 'mem_load_retired:hit_lfb': 'Fill_Buffer_Hit',
    'mem_load_retired:l1d_hit': 'L1_Hit', 'load_hit_pre': 'Prefetch_Hit',
    'mem_load_misc_retired:llc_miss': 'Local_DRAM',
    'mem_load_uops_retired:local_dram': 'Local_DRAM',
    'mem_load_uops_llc_miss_retired:local_dram': 'Local_DRAM',
    'mem_load_uops_l3_miss_retired:local_dram': 'Local_DRAM',
    'mem_load_uops_llc_miss_retired:remote_dram': 'Remote_DRAM',
    'mem_load_uops_l3_miss_retired:remote_dram': 'Remote_DRAM',
    'mem_load_uops_llc_miss_retired:remote_hitm': 'Remote_HitM',
    'mem_load_uops_l3_miss_retired:remote_hitm': 'Remote_HitM',
    'mem_load_uops_llc_miss_retired:remote_fwd': 'Remote_Forward',
    'mem_load_uops_l3_miss_retired:remote_fwd': 'Remote_Forward',
    'mem_load_uops_retired:l3_miss': 'L3_Miss_Other',
    'mem_load_llc_hit_retired:xsnp_none': 'L3_Hit',
    'mem_load_uops_l3_hit_retired:xsnp_none': 'L3_Hit',
    'mem_load_llc_hit_retired:xsnp_hit': 'L3_Snoop_Hit',
    'mem_load_uops_l3_hit_retired:xsnp_hit': 'L3_Snoop_Hit',
    'mem_load_llc_hit_retired:xsnp_hitm': 'L3_Snoop_HitM',
    'mem_load_uops_l3_hit_retired:xsnp_hitm': 'L3_Snoop_HitM',
    'mem_load_llc_hit_retired:xsnp_miss': 'L3_Snoop_Miss',
    'mem_load_uops_l3_hit_retired:xsnp_miss': 'L3_Snoop_Miss',
    'mem_load_uops_retired:l2_hit': 'L2_Hit', 'mem_load_uops_retired:hit_lfb': 'Fill_Buffer_Hit',
    'mem_load_uops_retired:l1_hit': 'L1_Hit', 'mem_uops_retired:all_loads': 'Loads',
    'load_hit_pre:sw_pf': 'Prefetch_Hit', 'l1d_pend_miss:pending_cycles': 'L1D_Miss_Pending',
    'dtlb_load_misses:stlb_hit': 'DTLB_STLB_Hit',
    'dtlb_load_misses:walk_completed': 'DTLB_Walks',
    'dtlb_load_misses:demand_ld_walk_completed': 'DTLB_Walks',
    'dtlb_load_misses:walk_cycles': 'DTLB_Walk_Cycles',
    'dtlb_load_misses:walk_duration': 'DTLB_Walk_Cycles',
    'dtlb_load_misses:demand_ld_walk_duration': 'DTLB_Walk_Cycles',
    'mem_uops_retired:stlb_miss_loads': 'STLB_Miss_Loads',
    # instruction starvation
    'rs_events:empty_cycles': 'RS_Empty', 'rs_events:empty_cycles:c=1:i=1:e=1': 'RS_Empty_Ends',
    'idq_uops_not_delivered:core:c=4': 'Front_End_Idle',
    'offcore_requests_outstanding:demand_code_rd:c=1': 'Code_Read_Pending',
    'offcore_requests_outstanding:demand_read_code:c=1': 'Code_Read_Pending',
    'l2_rqsts:code_rd_miss': 'Code_Beyond_L2', 'l2_rqsts:ifetch_miss': 'Code_Beyond_L2',
    'l2_rqsts:code_rd_hit': 'Code_From_L2', 'l2_rqsts:ifetch_hit': 'Code_From_L2',
    'itlb_misses:stlb_hit': 'ITLB_STLB_Hit', 'itlb_misses:0x10': 'ITLB_STLB_Hit',
    'itlb_misses:walk_completed': 'ITLB_Walks', 'itlb_misses:walk_cycles': 'ITLB_Walk_Cycles',
    'itlb_misses:walk_duration': 'ITLB_Walk_Cycles',
    'other_assists:itlb_miss_retired': 'ITLB_Miss_Retired',
    'dsb2mite_switches:penalty_cycles': 'DSB_Switch_Cycles',
    'uops_issued:stall_cycles': 'Issue_Stalls', 'resource_stalls:any': 'Resource_Stalls',
    # the others
    'offcore_requests_outstanding:all_data_rd:c=6': 'Reads_Saturated',
    'offcore_requests_outstanding:any_read:c=6': 'Reads_Saturated',
    'offcore_requests_outstanding:demand_rfo:c=4': 'RFO_Saturated',
    'br_misp_retired:all_branches': 'Mispredicted', 'baclears:any': 'Not_Predicted',
    'baclear:clear': 'Not_Predicted', 'uops_issued:any': 'Uops_Issued',
    'uops_retired:retire_slots': 'Retire_Slots', 'uops_issued:any:c=1': 'Issue_Cycles',
    'br_inst_retired:all_branches': 'Branches', 'resource_stalls:sb': 'Store_Buffer_Full',
    'resource_stalls:store': 'Store_Buffer_Full',
    'offcore_requests_outstanding:demand_rfo:c=1': 'RFO_Pending',
    'mem_uops_retired:all_stores': 'Stores', 'mem_uops_retired:stlb_miss_stores': 'STLB_Miss_Stores',
    'arith:fpu_div_active': 'Divider_Active', 'arith:cycles_div_busy': 'Divider_Active',
    'arith:fpu_div': 'Divisions', 'arith:div': 'Divisions', 'idq:ms_uops_cycles': 'Microcode_Cycles',
    'uops_decoded:ms_cycles_active': 'Microcode_Cycles',
}
for n in range(8):
    for unit in ('uops_executed:port%d', 'uops_executed:port%d_core', 'uops_dispatched_port:port_%d',
                 'uops_executed_port:port_%d'):
        TREE[unit % n] = 'Port_%d_Uops' % n

# Of the trees' rows these say otherwise here: why is written beside the node, once.
NOT_ADDED = ('ITLB',)            # its cycles are among those with an empty scheduler


def read_tree(path):
    """{node: row}; a name that stands there twice counts once (cpl_cycles:ring123)."""
    out = {}
    with open(path) as f:
        for row in csv.DictReader(f):
            node = TREE.get(row['name'])
            if node and node not in out:
                out[node] = row
    return out


class Core:
    """One CPU's tree in the making."""

    def __init__(self, model, server, tree=None, penalties=None, carried=None, width=4, sheet=None):
        self.sheet = sheet or {}
        self.a = Account(model)
        self.tree, self.penalties = tree or {}, penalties or {}
        self.server, self.carried, self.width = server, carried, width
        self.paper = bool(tree) and 'L3_Snoop' in tree      # Westmere's

    def leaf(self, node, parent, names, penalty=0, period=CYCLES, precise=0, adds=False, **facts):
        """Penalty and period as the CPU's tree has them, else these."""
        row = self.tree.get(node)
        if row:
            if row['penalty_cycles'] not in ('0', '') and penalty != 0:
                penalty = row['penalty_cycles']
            if row['script_period']:
                period, precise = int(row['script_period']), int(row['script_precise'] or 0)
                period = PRIME.get(period, period)
        if node in self.penalties:
            penalty = self.penalties[node]
            adds = adds and penalty != 0
        if node in self.sheet and adds:
            penalty = self.sheet[node]
            facts['note'] = SHEET_FROM + '.'
            if self.a.model.id in AFTER_SHEET:
                facts.update(cover='partial', note='Carried over from %s (%s).' %
                             (AFTER_SHEET[self.a.model.id], SHEET_FROM))
        if self.carried and adds and str(penalty) != '1' and 'note' not in facts:
            facts['note'], facts['cover'] = self.carried, 'partial'
        if self.paper and node in WSM_PAPER:
            facts['note'] = ' '.join(x for x in (WSM_PAPER[node], facts.get('note')) if x)
        # what memory takes does not change with the frequency of the core
        if node in MEMORY and self.a.reference and re.fullmatch(r'[\d.]+', str(penalty)) and float(penalty) > 1:
            penalty = '%s ref' % penalty
        if not self.a.event(node, parent, names, penalty, period, precise, adds, **facts):
            if row and row['event_code']:
                self.a.notes.append('%s: %s: left out: perfmon has no such event' %
                                    (node, row['name']))
            return False
        if row and row['event_code']:
            self.compare(node, row)
        return True

    def compare(self, node, row):
        event = self.a.nodes[node]['event']
        ours = with_options(self.a.line(event), event.split(':')[1:])
        theirs = tuple(int(row[k], 0) for k in ('event_code', 'umask', 'cmask', 'inv', 'edge',
                                                'any_thread'))
        if ours != theirs:
            what = ['%s 0x%02x for 0x%02x' % (k, o, t) for k, o, t in
                    zip(('event', 'umask', 'cmask', 'inv', 'edge', 'any'), ours, theirs) if o != t]
            self.a.remark(node, 'perfmon: %s of the tree' % ', '.join(what))

    # ---- branches, in the paper's order ----

    def whole(self):
        a = self.a
        self.leaf('Cycles', None, 'CPU_CLK_UNHALTED.THREAD CPU_CLK_UNHALTED.CORE', 1, part='cycles')
        ref = a.find(['CPU_CLK_UNHALTED.REF_TSC', 'CPU_CLK_UNHALTED.REF'])
        a.reference = ref
        a.event('Reference_Cycles', 'Cycles', [ref], 0, CYCLES, part='info',
                unit='reference cycles')
        self.leaf('Reference_Bus_Cycles', 'Cycles', 'CPU_CLK_UNHALTED.REF_XCLK '
                  'CPU_CLK_UNHALTED.REF_P', 0, NEAR, part='info', unit='bus cycles') \
            if 'Reference_Bus_Cycles' in self.tree else None
        self.leaf('User_Cycles', 'Cycles', 'CPL_CYCLES.RING123', 1, part='info')
        self.leaf('Kernel_Cycles', 'Cycles', 'CPL_CYCLES.RING0', 1, part='info')
        self.leaf('Kernel_Entries', 'Cycles', 'CPL_CYCLES.RING0_TRANS', 0, RING, part='info',
                  unit='entries')
        if a.has('User_Cycles', 'Kernel_Cycles'):
            a.put('Cycles_By_Ring', 'Cycles', part='info', expr='User_Cycles + Kernel_Cycles',
                  same='Cycles', tolerance='0.05')
        a.put('Halted', None, part='halted', cover='partial', whole='', unit='reference cycles',
              expr='max(0, TSC - %s)' % ref,
              note='Of a recording of whole CPUs only: the time-stamp counter runs on while a '
                   'processor is halted, the event does not.')
        self.leaf('Stalled', None, 'UOPS_RETIRED.STALL_CYCLES UOPS_RETIRED.STALLS', 1,
                  part='stalled')
        a.put('Unstalled', None, part='unstalled', cover='profile', expr='max(0, Cycles - Stalled)',
              same='Retiring_Cycles')
        self.leaf('Retiring_Cycles', 'Unstalled', 'UOPS_RETIRED.ACTIVE_CYCLES UOPS_RETIRED.CYCLES '
                  'UOPS_RETIRED.ALL:c1 UOPS_RETIRED.RETIRE_SLOTS:c1 UOPS_RETIRED.SLOTS:c1', 1)
        self.leaf('Instructions', None, 'INST_RETIRED.ANY', 0, part='info', unit='instructions')
        self.leaf('Instructions_Precise', 'Instructions', 'INST_RETIRED.PREC_DIST', 0, CYCLES, 2,
                  unit='instructions')
        self.leaf('Uops_Retired', None, 'UOPS_RETIRED.ANY UOPS_RETIRED.ALL', 0, part='info',
                  unit='uops')
        self.leaf('Branches', None, 'BR_INST_RETIRED.ALL_BRANCHES_PEBS BR_INST_RETIRED.ALL_BRANCHES',
                  0, NEAR, 1, part='info', unit='branches')
        self.leaf('Taken_Branches', 'Branches', 'BR_INST_RETIRED.NEAR_TAKEN', 0, NEAR, 1,
                  unit='branches')
        self.leaf('Returns', 'Branches', 'BR_INST_RETIRED.NEAR_RETURN', 0, NEAR, 1, unit='returns')
        self.leaf('Branch_Records', 'Branches', 'ROB_MISC_EVENTS.LBR_INSERTS '
                  'MISC_RETIRED.LBR_INSERTS', 0, NEAR, unit='records')

    def load_latency(self):
        a, b = self.a, 'Load_Latency'
        a.put(b, None, part='stalled', within='Load_Pending')
        if self.carried:
            a.nodes[b].update(cover='partial', note='Some penalties were measured on another CPU.' if self.sheet
                              else 'Penalties were measured on another CPU.')
        m, h = 'MEM_LOAD_UOPS_%s_MISS_RETIRED.', 'MEM_LOAD_UOPS_%s_HIT_RETIRED.'
        miss = lambda x: ' '.join([m % 'LLC' + x, m % 'L3' + x, 'MEM_LOAD_L3_MISS_RETIRED.' + x])
        hit = lambda *xs: ' '.join(t % x for x in xs for t in
                                   (h.replace('%s', 'LLC') + '%s', h.replace('%s', 'L3') + '%s',
                                    'MEM_LOAD_L3_HIT_RETIRED.%s'))
        dram = miss('LOCAL_DRAM') if self.server or 'Local_DRAM' in self.tree else ''
        self.leaf('Local_DRAM', b, 'MEM_UNCORE_RETIRED.LOCAL_DRAM_AND_REMOTE_CACHE_HIT ' + dram +
                  ' MEM_UNCORE_RETIRED.LOCAL_DRAM MEM_LOAD_UOPS_MISC_RETIRED.LLC_MISS MEM_LOAD_RETIRED.L3_MISS',
                  250, FAR, 2, True)
        if self.server:
            self.leaf('Remote_DRAM', b, 'MEM_UNCORE_RETIRED.REMOTE_DRAM ' + miss('REMOTE_DRAM'), 450,
                      FAR, 2, True)
            self.leaf('Remote_HitM', b, 'MEM_UNCORE_RETIRED.REMOTE_HITM ' + miss('REMOTE_HITM'), 450,
                      FAR, 2, True)
            self.leaf('Remote_Forward', b, miss('REMOTE_FWD'), 250, FAR, 2, True)
            self.leaf('Persistent_Memory', b, 'MEM_LOAD_RETIRED.LOCAL_PMM '
                      'MEM_LOAD_RETIRED.LOCAL_CXL_MEM', 0, FAR, 2, unit='loads',
                      cover='partial', note='What one costs is not known: a count alone.')
        self.leaf('L3_Miss_Other', b, 'MEM_UNCORE_RETIRED.OTHER_LLC_MISS' +
                  (' MEM_LOAD_UOPS_RETIRED.LLC_MISS' if 'L3_Miss_Other' in self.tree and
                   self.a.model.id == 'jkt' else ''), 350, FAR, 2, a.model.id != 'jkt',
                  **({'note': 'Not added: it counts what the two nodes of memory count again.'}
                     if a.model.id == 'jkt' else {}))
        self.leaf('Local_HitM', b, 'MEM_UNCORE_RETIRED.LOCAL_HITM '
                  'MEM_UNCORE_RETIRED.OTHER_CORE_L2_HITM', 95, RING, 2, True)
        self.leaf('L3_Hit', b, 'MEM_LOAD_RETIRED.LLC_UNSHARED_HIT ' + hit('XSNP_NONE') +
                  ' MEM_LOAD_RETIRED.L3_HIT', 30, L3, 2, True)
        if a.has('L3_Hit') and a.nodes['L3_Hit']['event'] == 'MEM_LOAD_RETIRED.L3_HIT':
            a.nodes['L3_Hit'].update(cover='partial', note='It counts those whose line another core '
                                     'had, too, which have nodes of their own. ' +
                                     (SHEET_FROM + '.' if self.sheet else self.carried or ''))
        if not a.has('Local_DRAM'):
            a.nodes[b]['note'] = ('Loads beyond the L2 are missing: no event tells where they were '
                                  'served. ' + a.nodes[b].get('note', ''))
            a.nodes[b]['cover'] = 'partial'
        self.leaf('L3_Snoop', b, 'MEM_LOAD_RETIRED.OTHER_CORE_L2_HIT_HITM', 85, 49999, 2, True)
        self.leaf('L3_Snoop_HitM', b, hit('XSNP_FWD', 'XSNP_HITM'), 85, L3, 2, True)
        if a.has('L3_Snoop_HitM') and a.nodes['L3_Snoop_HitM']['event'].endswith('XSNP_FWD'):
            n = a.nodes['L3_Snoop_HitM']
            n.update(cover='partial', note=' '.join(x for x in (CLEAN_TOO, n.get('note')) if x))
        self.leaf('L3_Snoop_Hit', b, hit('XSNP_NO_FWD', 'XSNP_HIT'), 65, L3, 2, True)
        self.leaf('L3_Snoop_Miss', b, hit('XSNP_MISS'), 75, L3, 2, True)
        self.leaf('L2_Hit', b, 'MEM_LOAD_RETIRED.L2_HIT MEM_LOAD_UOPS_RETIRED.L2_HIT '
                  'MEM_LOAD_RETIRED.L2_HIT_LOCAL', 6, NEAR, 2, True)
        self.dtlb(b)
        self.leaf('Blocked_Forwarding', b, 'LD_BLOCKS.STORE_FORWARD', 13, L3, 0, True,
                  note='13 cycles is what the TMA sheet takes for one.')
        self.leaf('Store_Overlaps', b, 'LOAD_BLOCK.OVERLAP_STORE', 0, NEAR, unit='loads')
        self.leaf('Fill_Buffer_Hit', b, 'MEM_LOAD_RETIRED.HIT_LFB MEM_LOAD_UOPS_RETIRED.HIT_LFB '
                  'MEM_LOAD_RETIRED.FB_HIT', 0, NEAR, 2, unit='loads')
        self.leaf('L1_Hit', b, 'MEM_LOAD_RETIRED.L1D_HIT MEM_LOAD_UOPS_RETIRED.L1_HIT '
                  'MEM_LOAD_RETIRED.L1_HIT', 0, UOPS, 2, unit='loads')
        self.leaf('Loads', b, 'MEM_UOPS_RETIRED.ALL_LOADS MEM_INST_RETIRED.ALL_LOADS', 0, UOPS,
                  unit='loads')
        self.loads_by_source(b)
        self.leaf('Prefetch_Hit', b, 'LOAD_HIT_PRE.SW_PF LOAD_HIT_PRE', 0, L3, unit='loads')
        self.leaf('L1D_Miss_Pending', b, 'L1D_PEND_MISS.PENDING_CYCLES L1D_PENDING.LOAD_CYCLES', 1)
        if not self.leaf('Load_Pending', b, 'CYCLE_ACTIVITY.CYCLES_MEM_ANY '
                         'CYCLE_ACTIVITY.CYCLES_LDM_PENDING', 1) and a.has('L1D_Miss_Pending'):
            a.nodes[b]['within'] = 'L1D_Miss_Pending'

    def loads_by_source(self, b):
        """A second way to count loads."""
        a = self.a
        if not a.has('Loads'):
            return
        parts = [a.find([p + x for p in ('MEM_LOAD_UOPS_RETIRED.', 'MEM_LOAD_RETIRED.')])
                 for x in ('L1_HIT', 'L1_MISS')]
        parts.append(a.find(['MEM_LOAD_UOPS_RETIRED.HIT_LFB', 'MEM_LOAD_RETIRED.FB_HIT']))
        if all(parts):
            a.put('Loads_By_Source', b, expr=' + '.join(parts), unit='loads', same='Loads',
                  tolerance='0.1')

    def dtlb(self, b):
        self.a.put('DTLB', b, adds='')
        if self.carried:
            self.a.nodes['DTLB'].update(cover='partial',
                                        note='Penalties were measured on another CPU.')
        self.leaf('DTLB_STLB_Hit', 'DTLB', 'DTLB_LOAD_MISSES.STLB_HIT', 3, NEAR, 0, True)
        self.leaf('DTLB_Walks', 'DTLB', 'DTLB_LOAD_MISSES.DEMAND_LD_WALK_COMPLETED '
                  'DTLB_LOAD_MISSES.WALK_COMPLETED', 7, NEAR, 0, True)
        self.leaf('DTLB_Walk_Cycles', 'DTLB', 'DTLB_LOAD_MISSES.WALK_CYCLES '
                  'DTLB_LOAD_MISSES.DEMAND_LD_WALK_DURATION DTLB_LOAD_MISSES.WALK_DURATION '
                  'DTLB_LOAD_MISSES.WALK_ACTIVE', 1, CYCLES, 0, True)
        self.leaf('STLB_Miss_Loads', 'DTLB', 'MEM_UOPS_RETIRED.STLB_MISS_LOADS '
                  'MEM_INST_RETIRED.STLB_MISS_LOADS', 0, NEAR, unit='loads')

    def bandwidth(self):
        oro = 'OFFCORE_REQUESTS_OUTSTANDING.'
        facts = {} if self.tree or self.a.model.id in SIX_READS else {'cover': 'partial', 'note': MORE_READS}
        self.a.put('Bandwidth_Saturated', None, part='stalled', **facts)
        self.leaf('Reads_Saturated', 'Bandwidth_Saturated', oro + 'ANY.READ:c6 ' + oro +
                  'ALL_DATA_RD:c6 ' + oro + 'DATA_RD:c6', 1, CYCLES, 0, True, **facts)
        self.leaf('RFO_Saturated', 'Bandwidth_Saturated', oro + 'DEMAND.RFO:c4 ' + oro +
                  'DEMAND_RFO:c4', 1)

        # on one counter alone the two would never count together
        pending, cycles = 'L1D_PEND_MISS.PENDING', 'L1D_PEND_MISS.PENDING_CYCLES'
        if self.a.find([pending]) and self.a.line(pending).split()[1] != '2':
            self.a.put('Misses_In_Flight', 'Bandwidth_Saturated', cover='profile',
                       expr='%s / %s' % (pending, cycles), unit='lines at a time')

    def starvation(self):
        a, b = self.a, 'Instruction_Starvation'
        oro = 'OFFCORE_REQUESTS_OUTSTANDING.'
        rs = a.find(['RS_EVENTS.EMPTY_CYCLES', 'RS.EMPTY'])
        a.put(b, None, part='stalled')
        if rs and 'RS.EMPTY_RESOURCE' in a.events:
            a.put('RS_Empty', b, cover='profile', adds='', expr='max(0, RS.EMPTY - RS.EMPTY_RESOURCE)',
                  note='Without the cycles in which nothing could be issued because a resource had '
                       'run out.')
            rs = 'RS.EMPTY'
        elif rs:
            self.leaf('RS_Empty', b, [rs], 1, CYCLES, 0, True)
        if rs:
            ends = a.find(['RS_EVENTS.EMPTY_END', 'RS.EMPTY_COUNT'])
            self.leaf('RS_Empty_Ends', b, [ends] if ends else [], 0, CYCLES, unit='times')
            if a.has('RS_Empty_Ends'):
                a.put('RS_Empty_Duration', b, cover='profile', expr='%s / %s' % (rs, ends),
                      unit='cycles each')
        self.leaf('Front_End_Idle', b, 'IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE '
                  'IDQ_BUBBLES.STARVATION_CYCLES IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE', 1)
        self.leaf('Code_Read_Pending', b, oro + 'DEMAND.READ_CODE_NOT_EMPTY ' + oro +
                  'CYCLES_WITH_DEMAND_CODE_RD ' + oro + 'DEMAND_CODE_RD:c1', 1)
        inner = {'adds': ''} if not rs else {'within': 'RS_Empty', 'cover': 'partial', 'note':
                 'Rebuilt from misses; its cycles are among those of RS_Empty, so it is not added.'}
        if self.carried and not rs:
            inner.update(cover='partial', note='Penalties were measured on another CPU.')
            a.nodes[b].update(cover='partial', note='Penalties were measured on another CPU.')
        a.put('Code_Fetch', b, **inner)
        if 'Code_Beyond_L2' in self.tree:
            self.leaf('Code_Beyond_L2', 'Code_Fetch', 'L2_RQSTS.IFETCH_MISS L2_RQSTS.CODE_RD_MISS', 33,
                      L3, 0, True)
        else:
            self.leaf('Code_Beyond_L2', 'Code_Fetch', 'FRONTEND_RETIRED.L2_MISS '
                      'L2_RQSTS.CODE_RD_MISS', 33, L3, 2, True)
        self.leaf('Code_From_L2', 'Code_Fetch', 'L2_RQSTS.IFETCH_HIT L2_RQSTS.CODE_RD_HIT', 8, NEAR,
                  0, True)
        inner = dict(inner)
        if rs:
            inner['note'] = 'Its cycles are among those of RS_Empty, so it is not added.'
        a.put('ITLB', b, **inner)
        self.leaf('ITLB_STLB_Hit', 'ITLB', 'ITLB_MISSES.STLB_HIT', 7, NEAR, 0, True)
        self.leaf('ITLB_Walks', 'ITLB', 'ITLB_MISSES.WALK_COMPLETED', 7, NEAR, 0, True)
        self.leaf('ITLB_Walk_Cycles', 'ITLB', 'ITLB_MISSES.WALK_CYCLES ITLB_MISSES.WALK_DURATION '
                  'ITLB_MISSES.WALK_ACTIVE', 1, CYCLES, 0, True)
        self.leaf('ITLB_Miss_Retired', 'ITLB', 'OTHER_ASSISTS.ITLB_MISS_RETIRED', 0, NEAR,
                  unit='instructions')
        self.leaf('DSB_Switch_Cycles', b, 'DSB2MITE_SWITCHES.PENALTY_CYCLES', 1)
        self.leaf('Issue_Stalls', b, 'UOPS_ISSUED.STALL_CYCLES', 1)
        self.leaf('Resource_Stalls', b, 'RESOURCE_STALLS.ANY', 1)
        if a.has('Issue_Stalls'):    # what is issued goes into the scheduler
            a.nodes[b]['within'] = 'Issue_Stalls'

    def instruction_latency(self):
        a, b = self.a, 'Instruction_Latency'
        a.put(b, None, part='stalled', cover='partial', note='Only the divider is seen: no CPU '
              'counts waiting for chains of other instructions.')
        self.leaf('Divider_Active', b, 'ARITH.CYCLES_DIV_BUSY ARITH.FPU_DIV_ACTIVE '
                  'ARITH.DIV_ACTIVE ARITH.DIVIDER_ACTIVE', 1, CYCLES, 0, True)
        if not self.leaf('Divisions', b, 'ARITH.DIV ARITH.FPU_DIV', 0, NEAR, unit='divisions'):
            self.leaf('Divider_Uops', b, 'ARITH.DIVIDER_UOPS', 0, UOPS, unit='uops')

    def stores(self):
        oro, b = 'OFFCORE_REQUESTS_OUTSTANDING.', 'Store_Resources'
        self.a.put(b, None, part='stalled')
        full = self.leaf('Store_Buffer_Full', b, 'RESOURCE_STALLS.STORE RESOURCE_STALLS.SB', 1, CYCLES,
                         0, True)
        self.leaf('Bound_On_Stores', b, 'EXE_ACTIVITY.BOUND_ON_STORES', 1, CYCLES, 0, not full,
                  within='Store_Buffer_Full' if full else None)
        if not full:
            self.a.nodes[b].update(cover='partial',
                                   note='Only the cycles in which no load was waiting as well.')
        self.leaf('RFO_Pending', b, oro + 'DEMAND.RFO_NOT_EMPTY ' + oro +
                  'CYCLES_WITH_DEMAND_RFO ' + oro + 'DEMAND_RFO:c1', 1)
        self.leaf('Stores', b, 'MEM_UOPS_RETIRED.ALL_STORES MEM_INST_RETIRED.ALL_STORES', 0, UOPS,
                  unit='stores')
        self.leaf('STLB_Miss_Stores', b, 'MEM_UOPS_RETIRED.STLB_MISS_STORES '
                  'MEM_INST_RETIRED.STLB_MISS_STORES', 0, NEAR, unit='stores')

    def branches(self):
        a, b = self.a, 'Branch_Misprediction'
        slots = a.find(['UOPS_RETIRED.RETIRE_SLOTS', 'UOPS_RETIRED.SLOTS'])
        a.put(b, None, part='stalled', cover='profile')
        self.leaf('Mispredicted', b, 'BR_MISP_RETIRED.ALL_BRANCHES_PEBS '
                  'BR_MISP_RETIRED.ALL_BRANCHES', 6, NEAR, 1, True)
        self.leaf('Not_Predicted', b, 'BACLEARS.ANY BACLEAR.CLEAR', 6, NEAR, 0, True)
        if not self.tree:
            self.leaf('Recovery_Cycles', b, 'INT_MISC.RECOVERY_CYCLES', 1, CYCLES, 0, True)
        if slots and a.find(['UOPS_ISSUED.ANY']):
            a.put('Wrong_Path', b, cover='profile', adds='',
                  expr='max(0, UOPS_ISSUED.ANY - %s) / Uop_Issue_Rate' % slots)
            self.leaf('Uops_Issued', 'Wrong_Path', 'UOPS_ISSUED.ANY', 0, UOPS, unit='uops')
            self.leaf('Retire_Slots', 'Wrong_Path', [slots], 0, UOPS, unit='uops')
            self.leaf('Issue_Cycles', 'Wrong_Path', 'UOPS_ISSUED.ANY:c1', 1)
            a.put('Uop_Issue_Rate', 'Wrong_Path', cover='profile', whole='', unit='uops a cycle',
                  expr='UOPS_ISSUED.ANY / UOPS_ISSUED.ANY:c1')

    def locks(self):
        b = 'Lock_Acquisition'
        note = ('Only the cycles in which the cache is held locked. Waiting for a line that another '
                'core has changed is in Load_Latency: its nodes of changed lines (HitM).')
        self.a.put(b, None, part='stalled', cover='partial', note=note)
        self.leaf('Cache_Locked', b, 'CACHE_LOCK_CYCLES.L1D_L2 LOCK_CYCLES.CACHE_LOCK_DURATION', 1,
                  CYCLES, 0, True)
        self.a.nodes[b]['lacks'] = ('No event counts cycles of locks here. Waiting for a line that '
                                    'another core has changed is in Load_Latency: its nodes of '
                                    'changed lines (HitM).')
        self.leaf('Locked_Loads', b, 'MEM_UOPS_RETIRED.LOCK_LOADS MEM_INST_RETIRED.LOCK_LOADS', 0,
                  L3, 2, unit='loads')

    def ports(self):
        """-> the ports as terms of a formula, each in cycles of one port."""
        a, b = self.a, 'Port_Saturation'
        found = []
        for n in range(8):
            if self.leaf('Port_%d_Uops' % n, b, 'UOPS_EXECUTED.PORT%d UOPS_EXECUTED.PORT%d_CORE '
                         'UOPS_EXECUTED_PORT.PORT_%d UOPS_DISPATCHED_PORT.PORT_%d '
                         'UOPS_DISPATCHED.PORT_%d' % (n, n, n, n, n), 0, UOPS, unit='uops'):
                found.append('Port_%d_Uops' % n)
        for name, count in (('2_3', 2), ('2_3_10', 3), ('4_9', 2), ('5_11', 2), ('7_8', 2)):
            if self.leaf('Ports_' + name + '_Uops', b, 'UOPS_DISPATCHED.PORT_' + name, 0, UOPS, unit='uops'):
                found.append('Ports_%s_Uops / %d' % (name, count))
        return found

    def unstalled(self):
        a = self.a
        slots = a.find(['UOPS_RETIRED.ANY', 'UOPS_RETIRED.ALL', 'UOPS_RETIRED.RETIRE_SLOTS',
                        'UOPS_RETIRED.SLOTS'])
        if a.has('Retiring_Cycles') and slots:
            a.put('Underutilisation', None, part='unstalled', cover='profile',
                  expr='max(0, %d * Retiring_Cycles - %s) / %d' % (self.width, slots, self.width))
        else:
            a.put('Underutilisation', None, part='unstalled')
        a.put('Port_Saturation', None, part='unstalled', cover='profile')
        found = self.ports()
        if found:
            busiest = found[-1]
            for f in reversed(found[:-1]):
                busiest = 'max(%s, %s)' % (f, busiest)
            a.put('Busiest_Port', 'Port_Saturation', part='info', cover='profile', expr=busiest,
                  unit='uops')
            a.nodes['Port_Saturation']['expr'] = \
                'Busiest_Port if Busiest_Port > 0.8 * Cycles else 0'
        else:
            a.nodes['Port_Saturation'].update(cover='none', note='Its events count groups of ports '
                                              'whose number is not published.')
        a.put('Call_Overhead', None, part='unstalled', cover='partial', note='Three cycles for any '
              'call: entry and exit code alone.')
        self.leaf('Calls', 'Call_Overhead', 'BR_INST_RETIRED.NEAR_CALL', 3, NEAR, 1, True)
        a.put('Serialisation', None, part='unstalled')
        self.leaf('Scoreboard_Stalls', 'Serialisation', 'PARTIAL_RAT_STALLS.SCOREBOARD '
                  'RESOURCE_STALLS.SCOREBOARD BE_STALLS.SCOREBOARD', 1, CYCLES, 0, True)
        a.put('Exceptions_Microcode', None, part='unstalled')
        self.leaf('Microcode_Cycles', 'Exceptions_Microcode', 'UOPS_DECODED.MS_CYCLES_ACTIVE '
                  'IDQ.MS_CYCLES IDQ.MS_CYCLES_ANY IDQ.MS_UOPS:c1', 1, CYCLES, 0, True)
        self.leaf('Assists_Taken', 'Exceptions_Microcode', 'OTHER_ASSISTS.ANY ASSISTS.ANY '
                  'OTHER_ASSISTS.ANY_WB_ASSIST', 0, L3, unit='assists')
        self.leaf('Clears', 'Exceptions_Microcode', 'MACHINE_CLEARS.COUNT', 0, L3,
                  unit='clears')

    def threads(self):
        """How often both threads of a core want the same, if the other is as busy as this one."""
        a, b, terms_ = self.a, 'Thread_Collisions', []
        facts = {'part': 'stalled', 'cover': 'partial', 'smt': '', 'note': 'Of CPUs whose threads are both '
                 'busy, by chance: as often as both would want the same at a time if the other did '
                 'what this one does. The three overlap; the largest counts.'}
        a.put(b, None, **facts)
        if a.model.id in ONE_THREAD:
            a.nodes[b] = {'parent': None, 'part': 'stalled', 'cover': 'none',
                          'note': 'These cores have one thread.'}
            return
        if a.has('Issue_Cycles', 'Resource_Stalls'):
            a.put('Issue_Collisions', b, cover='partial', note='A chance, not a count.',
                  expr='min(Cycles, 0.5 * Cycles * Issue_Cycles * Issue_Cycles / '
                  '((Cycles - Resource_Stalls) * (Cycles - Resource_Stalls)))')
            terms_.append('Issue_Collisions')
        loads = None
        if a.has('Port_2_Uops', 'Port_3_Uops') and a.model.id not in ('wsm-dp', 'wsm-sp', 'wsm-ex'):
            loads = '(Port_2_Uops + Port_3_Uops) / 2'
        for name, n in (('Ports_2_3_Uops', 2), ('Ports_2_3_10_Uops', 3)):
            if a.has(name):
                loads = '%s / %d' % (name, n)
        if loads:
            a.put('Execution_Collisions', b, cover='partial', note='A chance, not a count.',
                  expr='%s * %s / Cycles' % (loads, loads))
            terms_.append('Execution_Collisions')
        if a.has('Retiring_Cycles'):
            a.put('Retirement_Collisions', b, cover='partial', note='A chance, not a count.',
                  expr='Retiring_Cycles * Retiring_Cycles / Cycles')
            terms_.append('Retirement_Collisions')
        if not terms_:
            a.nodes[b] = {'parent': None, 'part': 'stalled'}
            return
        text = terms_[-1]
        for t in reversed(terms_[:-1]):
            text = 'max(%s, %s)' % (t, text)
        a.nodes[b]['expr'] = text

    def make(self):
        self.whole()
        self.load_latency()
        self.bandwidth()
        self.starvation()
        self.instruction_latency()
        self.stores()
        self.a.put('Thread_Collisions', None, part='stalled')     # filled when its terms are there
        self.branches()
        self.locks()
        self.unstalled()
        self.threads()
        self.a.finish()
        return self.a


# Levinthal's later guidance, measured on Skylake-SP: what goes to memory costs cycles of the
# reference clock, what stays on the die cycles of the core.
SKX = {'Local_DRAM': '167 ref', 'Remote_DRAM': '368 ref', 'Remote_HitM': '335 ref',
       'Remote_Forward': '335 ref', 'L3_Snoop_HitM': 189, 'L3_Snoop_Hit': 189, 'L3_Snoop_Miss': 189,
       'L3_Hit': 75, 'L2_Hit': 0, 'DTLB_STLB_Hit': 0, 'DTLB_Walks': 3.5, 'Code_Beyond_L2': 65}
# What Intel's TMA sheet takes loads to cost, from the L1 on, on CPUs since Ice Lake: rows of
# TMA_Metrics-full.csv (5.2), whose cells are nanoseconds times Core_Frequency. A column without a cell
# has that of the next older CPU, to its right; what stands under a server is of servers only, as the
# formulas of perfmon's own metrics show. Of memory it tells for servers alone.
SHEET = {'Local_DRAM': '#Mem_Local_DRAM_Cost', 'Remote_DRAM': '#Mem_Remote_DRAM_Cost',
         'Remote_HitM': '#Mem_Remote_HitM_Cost', 'Remote_Forward': '#Mem_Remote_Fwd_Cost',
         'L3_Hit': '#Mem_XSNP_None_Cost', 'L3_Snoop_Hit': '#Mem_XSNP_Hit_Cost',
         'L3_Snoop_HitM': '#Mem_XSNP_HitM_Cost', 'L3_Snoop_Miss': '#Mem_XSNP_Hit_Cost'}
# The cost of a resteer by a branch that was not predicted has no unit there but cycles.
SHEET_CYCLES = {'Not_Predicted': '#BAClear_Cost'}
COLUMN = {'icl': 'ICL', 'rkl': 'RKL', 'tgl': 'TGL', 'icx': 'ICX', 'spr': 'SPR', 'sprhbm': 'SPR-HBM',
          'emr': 'EMR', 'gnr': 'GNR', 'adl-glc': 'ADL/RPL', 'mtl-rwc': 'MTL', 'lnl-lnc': 'LNL/ARL',
          'arl-lnc': 'LNL/ARL', 'ptl-cgc': 'PTL', 'nvl-cyc': 'PTL'}
AFTER_SHEET = {'nvl-cyc': 'Panther Lake'}      # newer than the sheet
SHEET_FROM = "Intel's TMA sheet 5.2"


def read_sheet(path):
    """{row: {column: cell}}, empty cells filled from the right; the second line says which are servers."""
    with open(path, encoding='utf-8-sig') as f:
        rows = list(csv.reader(f))
    head = rows[2]
    first, last = head.index('PTL'), head.index('JKT/SNB-EP')
    out = {}
    for row in rows[3:]:
        cell, client, cells = '', '', {}
        for i in range(last, first - 1, -1):
            server = rows[1][i] == 'Server'
            if row[i].strip():
                cell = row[i].strip()
                client = client if server else cell
            cells[head[i]] = cell if server else client
        if row[0] == 'Aux':
            out[next(x for x in row[1:7] if x)] = cells
    return out


def of_sheet(sheet, ident, server):
    """{node: 'N ns' or 'N'}: what the sheet says of this CPU."""
    out, column = {}, COLUMN.get(ident)
    if not column:
        return out
    for node, row in SHEET.items():
        m = re.match(r'([\d.]+) \* Core_Frequency$', sheet[row][column])
        if m and (server or not row.endswith('DRAM_Cost')):
            out[node] = m.group(1) + ' ns'
    for node, row in SHEET_CYCLES.items():
        if re.match(r'[\d.]+$', sheet[row][column]):
            out[node] = sheet[row][column]
    return out


# A client's ring: memory of Ivy Bridge's tree, the rest of Haswell's.
SKL = {'Local_DRAM': 250, 'L3_Snoop_HitM': 85, 'L3_Snoop_Hit': 65, 'L3_Snoop_Miss': 75, 'L3_Hit': 30,
       'L2_Hit': 6, 'DTLB_STLB_Hit': 0, 'DTLB_Walks': 3.5}

# What leaves the socket's caches: of the reference clock, whose cycles are always as long.
MEMORY = ('Local_DRAM', 'Remote_DRAM', 'Remote_HitM', 'Remote_Forward', 'L3_Miss_Other')
# How many reads on their way fill what a core has for them was found by Levinthal up to Skylake: later
# cores have more (Ice Lake 12 line fill buffers of the L1 and 32 or 48 entries of the L2, Golden Cove 16 and 48).
SIX_READS = ('skl', 'cfl', 'skx', 'clx', 'cpx')
MORE_READS = ('Six reads at a time saturate cores up to Skylake; this one has room for more, so that this is an upper bound.')
CLEAN_TOO = ('Its event counts lines that another core forwarded, changed or not: where they were not changed, they are no '
             'HitM.')
# Where the report file of Westmere and the paper differ.
WSM_PAPER = {
    'L3_Miss_Other': 'The paper has 250 cycles, the report file 350.',
    'DTLB_STLB_Hit': 'The paper has 7 cycles, the report file 4.',
    'L3_Snoop': 'The paper takes those of Local_HitM off, which this event counts, too; the report file does not.',
    'Store_Overlaps': 'The paper has 8 cycles each; the report file only counts them.',
}

# model, tree of Gooda, penalties, base, where the penalties are carried over from
TABLE = [
    ('wsm-dp', 'wsm_ep', None, None, None),
    ('wsm-sp', 'wsm_ep', None, 'wsm-dp', 'Carried over from Westmere EP.'),
    ('wsm-ex', 'wsm_ep', None, 'wsm-dp', 'Carried over from Westmere EP.'),
    ('nhm-ep', 'wsm_ep', None, 'wsm-dp', 'Carried over from Westmere EP.'),
    ('nhm-ex', 'wsm_ep', None, 'nhm-ep', 'Carried over from Westmere EP.'),
    ('ivt', 'ivb_ep', None, None, None),
    ('ivb', 'ivb', None, 'ivt', None),
    ('snb', 'snb', None, 'ivb', None),
    ('jkt', 'snb_ep', None, 'snb', None),
    ('hsw', 'hsw', None, 'ivb', None),
    ('hsx', 'hsw_ep', None, 'hsw', None),
    ('bdw', 'hsw', None, 'hsw', 'Carried over from Haswell.'),
    ('bdw-de', 'hsw_ep', None, 'bdw', 'Carried over from Haswell.'),
    ('bdx', 'hsw_ep', None, 'bdw', 'Carried over from Haswell EP.'),
    ('skx', None, SKX, None, None),
    ('clx', None, SKX, 'skx', None),
    ('cpx', None, SKX, 'skx', 'Carried over from Skylake SP.'),
    ('skl', None, SKL, 'skx', 'Carried over from Ivy Bridge and Haswell.'),
    ('cfl', None, SKL, 'skl', 'Carried over from Ivy Bridge and Haswell.'),
    ('icl', None, SKL, 'skl', 'Carried over from Ivy Bridge and Haswell.'),
    ('rkl', None, SKL, 'icl', 'Carried over from Ivy Bridge and Haswell.'),
    ('tgl', None, SKL, 'icl', 'Carried over from Ivy Bridge and Haswell.'),
    ('icx', None, SKX, 'icl', 'Carried over from Skylake SP.'),
    ('spr', None, SKX, 'icx', 'Carried over from Skylake SP.'),
    ('sprhbm', None, SKX, 'spr', 'Carried over from Skylake SP.'),
    ('emr', None, SKX, 'spr', 'Carried over from Skylake SP.'),
    ('gnr', None, SKX, 'spr', 'Carried over from Skylake SP.'),
    ('adl-glc', None, SKL, 'spr', 'Carried over from Ivy Bridge and Haswell.'),
    ('mtl-rwc', None, SKL, 'adl-glc', 'Carried over from Ivy Bridge and Haswell.'),
    ('lnl-lnc', None, SKL, 'mtl-rwc', 'Carried over from Ivy Bridge and Haswell.'),
    ('arl-lnc', None, SKL, 'lnl-lnc', 'Carried over from Ivy Bridge and Haswell.'),
    ('ptl-cgc', None, SKL, 'lnl-lnc', 'Carried over from Ivy Bridge and Haswell.'),
    ('nvl-cyc', None, SKL, 'ptl-cgc', 'Carried over from Ivy Bridge and Haswell.'),
]
ONE_THREAD = ('lnl-lnc', 'arl-lnc', 'ptl-cgc')
SERVERS = ('wsm-dp', 'wsm-ex', 'nhm-ep', 'nhm-ex', 'jkt', 'ivt', 'hsx', 'bdx', 'skx', 'clx', 'cpx', 'icx', 'spr',
           'sprhbm', 'emr', 'gnr')
METHOD = 'D. Levinthal, formulas for Skylake-SP and Cascade Lake-SP'


def accounts(reference, models):
    trees = {}
    sheet = read_sheet(os.path.join(reference, 'perfmon', 'TMA_Metrics-full.csv'))
    for ident, tree, penalties, base, carried in TABLE:
        if tree and tree not in trees:
            trees[tree] = read_tree(os.path.join(reference, 'gooda-trees', tree + '.csv'))
        m = models[ident]
        width = int(m.facts['width'])
        core = Core(m, ident in SERVERS, trees.get(tree), penalties, carried, width,
                    of_sheet(sheet, ident, ident in SERVERS))
        a = core.make()
        a.base = base
        a.penalties_from = ("D. Levinthal's Gooda, report file %s" % tree if tree else METHOD) + (
            ', ' + carried[0].lower() + carried[1:].rstrip('.') if carried else '')
        if core.sheet:
            a.penalties_from = '%s; what it lacks: %s' % (SHEET_FROM, a.penalties_from)
        a.sources = ['Gooda, report file %s' % tree if tree else METHOD] + (
            ['intel/perfmon TMA_Metrics-full.csv 5.2, column %s' % COLUMN[ident]] if core.sheet else []) + [
            s for s in m.sources if 'events' in s]
        yield a


__all__ = ['accounts', 'terms']
