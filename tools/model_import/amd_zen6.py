# SPDX-License-Identifier: BSD-3-Clause
"""Zen 6: codes of its events, and its metrics, as Linux 7.0 publishes them (tools/perf/pmu-events/arch/x86/amdzen6).

Left out are names whose code there is that of another event: fp_ret_sse_avx_ops.{scalar,packed}_half_flops (that of
packed_double_flops), l2_request_g2.all (of ls_rd_sized), and all of fp_nsq_read_stalls but `all`.
"""

# What a unit mask stands for in the names of fills, and of operations (packed ones have it shifted by four bits).
FILLS = {'local_l2': 0x01, 'local_ccx': 0x02, 'local_all': 0x03, 'near_cache': 0x04, 'dram_io_near': 0x08, 'far_cache': 0x10,
         'remote_cache': 0x14, 'dram_io_far': 0x40, 'dram_io_all': 0x48, 'far_all': 0x50, 'alt_mem': 0x80, 'all': 0xDF}
FP = 'add sub mul mac div sqrt cmp cvt blend mov shuffle bfloat logical other all'.split()
INT = 'add sub mul mac aes sha cmp cvt shift mov shuffle vnni logical other all'.split()
HWPF = {'l2_hwpf': 0x1F, 'l1_dc_hwpf': 0xE0, 'l1_dc_l2_hwpf': 0xFF}


def kinds(low, high, words, lacks=()):
    """{low_add: 0x01, ..., high_add: 0x10, ...}; `lacks`: of the upper half."""
    out = {'%s_%s' % (low, x): i + 1 for i, x in enumerate(words)}
    out.update({'%s_%s' % (high, x): (i + 1) << 4 for i, x in enumerate(words) if x not in lacks})
    return out


def moves(units):
    """Scalars and vectors are moved by `move`, packed ones by `mov`."""
    return {(k[:-3] + 'move' if k.endswith('_mov') else k): v for k, v in units.items()}


# {(name, code): {unit: mask}, or None: no unit}
CORE = {
    ('fp_ret_x87_fp_ops', 0x02): {'add_sub_ops': 1, 'mul_ops': 2, 'div_sqrt_ops': 4, 'all': 7},
    ('fp_ret_sse_avx_ops', 0x03): {'add_sub_flops': 1, 'mult_flops': 2, 'div_flops': 4, 'mac_flops': 8, 'bfloat16_flops': 0x20,
                                   'scalar_single_flops': 0x40, 'packed_single_flops': 0x60, 'scalar_double_flops': 0x80,
                                   'packed_double_flops': 0xA0, 'all': 0x0F},
    ('fp_ops_ret_by_width', 0x08): {'x87': 1, 'mmx': 2, 'scalar': 4, 'pack_128': 8, 'pack_256': 0x10, 'pack_512': 0x20, 'all': 0x3F},
    ('fp_ops_ret_by_type', 0x0A): dict(moves(kinds('scalar', 'vector', FP)), all=0xFF),
    ('fp_sse_avx_ops_ret', 0x0B): dict(kinds('mmx', 'sse_avx', INT), all=0xFF),
    ('fp_pack_ops_ret', 0x0C): dict(kinds('fp128', 'fp256', FP, ('bfloat',)), fp_all=0xFF),
    ('fp_pack_int_ops_ret', 0x0D): dict(kinds('int128', 'int256', INT, ('aes', 'sha', 'cvt')), int_all=0xFF),
    ('fp_disp_faults', 0x0E): {'x87_fill_fault': 1, 'xmm_fill_fault': 2, 'ymm_fill_fault': 4, 'ymm_spill_fault': 8, 'sse_avx_all': 0x0E,
                               'all': 0x0F},
    ('fp_pack_512b_ops_ret', 0x0F): dict({'fp512_' + x: i + 1 for i, x in enumerate(FP)},
                                         **{'int512_' + x: (i + 1) << 4 for i, x in enumerate(INT)}, **{'512b_all': 0xFF}),
    ('fp_nsq_read_stalls', 0x13): {'all': 0x0E},
    ('ls_bad_status2', 0x24): {'stli_other': 2},
    ('ls_locks', 0x25): {'bus_lock': 1, 'all': 0x1F},
    ('ls_ret_cl_flush', 0x26): None, ('ls_ret_cpuid', 0x27): None,
    ('ls_dispatch', 0x29): {'pure_ld': 1, 'pure_st': 2, 'ld_st': 4, 'all': 7},
    ('ls_smi_rx', 0x2B): None, ('ls_int_taken', 0x2C): None, ('ls_stlf', 0x35): None,
    ('ls_st_commit_cancel', 0x37): {'older_st_vis_dep': 1},
    ('ls_mab_alloc', 0x41): {'ls': 7, 'hwpf': 8, 'all': 0x0F},
    ('ls_dmnd_fills_from_sys', 0x43): FILLS, ('ls_any_fills_from_sys', 0x44): dict(FILLS, all=0xFF),
    ('ls_l1_d_tlb_miss', 0x45): {'tlb_reload_4k_l2_hit': 1, 'tlb_reload_coalesced_page_hit': 2, 'tlb_reload_2m_l2_hit': 4,
                                 'tlb_reload_1g_l2_hit': 8, 'tlb_reload_4k_l2_miss': 0x10, 'tlb_reload_coalesced_page_miss': 0x20,
                                 'tlb_reload_2m_l2_miss': 0x40, 'tlb_reload_1g_l2_miss': 0x80, 'l2_miss_all': 0xF0, 'all': 0xFF},
    ('ls_misal_loads', 0x47): {'ma64': 1, 'ma4k': 2},
    ('ls_pref_instr_disp', 0x4B): {'prefetch': 1, 'prefetch_w': 2, 'prefetch_nta': 4, 'all': 7},
    ('wcb_close', 0x50): {'full_line_64b': 1},
    ('ls_inef_sw_pref', 0x52): {'dc_hit': 1, 'mab_hit': 2, 'all': 3},
    ('ls_sw_pf_dc_fills', 0x59): FILLS, ('ls_hw_pf_dc_fills', 0x5A): FILLS,
    ('ls_alloc_mab_count', 0x5F): None,
    ('l2_request_g1', 0x60): {'group2': 1, 'l2_hwpf': 2, 'prefetch_l2_cmd': 4, 'cacheable_ic_read': 0x10, 'ls_rd_blk_c_s': 0x20,
                              'rd_blk_x': 0x40, 'rd_blk_l': 0x80, 'dc_all': 0xE0, 'no_pf_all': 0xF1, 'all': 0xF7},
    ('l2_request_g2', 0x61): {'ls_rd_sized_nc': 0x20, 'ls_rd_sized': 0x40},
    ('l2_wcb_req', 0x63): {'wcb_close': 0x20},
    ('l2_cache_req_stat', 0x64): {'ic_fill_miss': 1, 'ic_fill_hit_s': 2, 'ic_fill_hit_x': 4, 'ic_hit_in_l2': 6, 'ic_access_in_l2': 7,
                                  'ls_rd_blk_c': 8, 'ic_dc_miss_in_l2': 9, 'ls_rd_blk_x': 0x10, 'ls_rd_blk_l_hit_s': 0x20,
                                  'ls_rd_blk_l_hit_x': 0x40, 'ls_rd_blk_cs': 0x80, 'dc_hit_in_l2': 0xF0, 'ic_dc_hit_in_l2': 0xF6,
                                  'dc_access_in_l2': 0xF8, 'all': 0xFF},
    ('l2_pf_hit_l2', 0x70): HWPF, ('l2_pf_miss_l2_hit_l3', 0x71): HWPF, ('l2_pf_miss_l2_l3', 0x72): HWPF,
    ('ls_not_halted_cyc', 0x76): None, ('ls_tlb_flush', 0x78): {'all': 0xFF},
    ('ic_cache_fill_l2', 0x82): None, ('ic_cache_fill_sys', 0x83): None,
    ('bp_l1_tlb_miss_l2_tlb_hit', 0x84): None,
    ('bp_l1_tlb_miss_l2_tlb_miss', 0x85): {'if4k': 1, 'if2m': 2, 'if1g': 4, 'coalesced_4k': 8, 'all': 0x0F},
    ('bp_pipe_correct', 0x8B): None, ('bp_var_target_pred', 0x8E): None, ('bp_early_redir', 0x91): None,
    ('bp_l1_tlb_fetch_hit', 0x94): {'if4k': 1, 'if2m': 2, 'if1g': 4, 'all': 7},
    ('bp_fe_redir', 0x9F): {'resync': 1, 'ex_redir': 2, 'all': 0},
    ('de_op_queue_empty', 0xA9): None,
    ('de_src_op_disp', 0xAA): {'x86_decoder': 1, 'op_cache': 2, 'all': 7},
    ('de_dis_ops_from_decoder', 0xAB): {'any_fp': 4, 'any_int': 8},
    ('de_disp_stall_cycles_dynamic_tokens_part1', 0xAE): {'int_phy_reg_file_rsrc_stall': 1},
    ('de_dispatch_stall_cycle_dynamic_tokens_part1', 0xAE): {'load_queue_rsrc_stall': 2, 'store_queue_rsrc_stall': 4,
                                                             'taken_brnch_buffer_rsrc': 0x10, 'fp_sch_rsrc_stall': 0x40},
    ('de_dispatch_stall_cycle_dynamic_tokens_part2', 0xAF): {'int_sq0': 1, 'int_sq1': 2, 'int_sq2': 4, 'int_sq3': 8, 'int_sq4': 0x10,
                                                             'int_sq5': 0x20, 'ret_q': 0x80, 'all': 0xBF},
    ('ex_ret_instr', 0xC0): None, ('ex_ret_ops', 0xC1): None, ('ex_ret_brn', 0xC2): None, ('ex_ret_brn_misp', 0xC3): None,
    ('ex_ret_brn_tkn', 0xC4): None, ('ex_ret_brn_tkn_misp', 0xC5): None, ('ex_ret_brn_far', 0xC6): None,
    ('ex_ret_near_ret', 0xC8): None, ('ex_ret_near_ret_mispred', 0xC9): None, ('ex_ret_brn_ind_misp', 0xCA): None,
    ('ex_ret_brn_ind', 0xCC): None, ('ex_ret_brn_cond', 0xD1): None, ('ex_div_busy', 0xD3): None, ('ex_div_count', 0xD4): None,
    ('ex_no_retire', 0xD6): {'empty': 1, 'not_complete': 2, 'other': 8, 'thread_not_selected': 0x10, 'load_not_complete': 0xA2},
    ('ls_not_halted_p0_cyc', 0x120): {'p0_freq_cyc': 1},
    ('l2_fill_rsp_src', 0x165): {'local_ccx': 2, 'near_cache': 4, 'dram_io_near': 8, 'far_cache': 0x10, 'dram_io_far': 0x40,
                                 'dram_io_all': 0x48, 'far_all': 0x50, 'alt_mem': 0x80, 'all': 0xDE},
    ('l2_sys_bw', 0x175): {'local_dram_fill': 1, 'remote_dram_fill': 2, 'nt_write': 4, 'local_scm_fill': 0x10, 'remote_scm_fill': 0x20,
                           'victim': 0x40, 'all': 0xFF},
    ('ic_fetch_ibs_events', 0x188): {'tagged': 2, 'filtered': 8, 'valid': 0x10},
    ('de_no_dispatch_per_slot', 0x1A0): {'no_ops_from_frontend': 1, 'backend_stalls': 0x1E, 'smt_contention': 0x60},
    ('de_additional_resource_stalls', 0x1A2): {'dispatch_stalls': 0x30},
    ('ex_ret_ucode_instr', 0x1C1): None, ('ex_ret_ucode_ops', 0x1C2): None, ('ex_ret_brn_cond_misp', 0x1C7): None,
    ('ex_ret_brn_uncond_ind_near_misp', 0x1C8): None, ('ex_ret_brn_uncond', 0x1C9): None,
    ('ex_tagged_ibs_ops', 0x1CF): {'tagged': 1, 'tagged_ret': 2, 'rollovers': 4, 'filtered': 8, 'valid': 0x10},
    ('ex_ret_fused_instr', 0x1D0): None,
    ('op_cache_hit_miss', 0x28F): {'hit': 3, 'miss': 4, 'all': 7},
    ('ic_fills_from_sys', 0x29C): FILLS,
    ('ex_mprof_ibs_ops', 0x2C0): {'tagged': 1, 'tagged_ret': 2, 'rollovers': 4, 'filtered': 8, 'valid': 0x10},
}
SAMPLED = {'dram_near': 1, 'dram_far': 2, 'near_cache': 4, 'far_cache': 8, 'ext_near': 0x10, 'ext_far': 0x20, 'all': 0x3F}
L3 = {('l3_lookup_state', 0x04): {'l3_miss': 1, 'l3_hit': 0xFE, 'all_coherent_accesses_to_l3': 0xFF},
      ('l3_xi_sampled_latency', 0xAC): SAMPLED, ('l3_xi_sampled_latency_requests', 0xAD): SAMPLED}
UMC = {('umc_act_cmd', 0x05), ('umc_pchg_cmd', 0x06), ('umc_cas_cmd', 0x0A), ('umc_data_slot_clks', 0x14)}


def events():
    """[(name, as a row of pmu-events)]"""
    for table, more in ((CORE, {}), (L3, {'Unit': 'L3PMC'})):
        for (name, code), units in table.items():
            sampled = {'EnAllCores': '1'} if code in (0xAC, 0xAD) and more else {}
            for unit, mask in (units or {'': 0}).items():
                yield name + ('.' + unit if unit else ''), dict(more, EventCode=hex(code), UMask=hex(mask), **sampled)
    yield 'umc_mem_clk', {'EventCode': '0', 'Unit': 'UMCPMC'}
    for name, code in sorted(UMC):
        for unit, mask in (('all', 0), ('rd', 1), ('wr', 2)):
            yield '%s.%s' % (name, unit), {'EventCode': hex(code), 'Unit': 'UMCPMC', **({'RdWrMask': hex(mask)} if mask else {})}


# (name, formula, unit of a scale, group); "/ i" is by retired instructions, in thousands.
PTI = '1e3per_1k_instr'
METRICS = [
    ('branch_misprediction_rate', 'd_ratio(ex_ret_brn_misp, ex_ret_brn)', '1per_branch', 'branch_prediction'),
    ('all_data_cache_accesses_pti', 'ls_dispatch.all / i', PTI, 'l1_dcache'),
    ('all_l2_cache_accesses_pti', '(l2_request_g1.no_pf_all + l2_pf_hit_l2.l2_hwpf + l2_pf_miss_l2_hit_l3.l2_hwpf + '
     'l2_pf_miss_l2_l3.l2_hwpf) / i', PTI, 'l2_cache'),
    ('l2_cache_accesses_from_l1_ic_misses_pti', 'l2_request_g1.cacheable_ic_read / i', PTI, 'l2_cache'),
    ('l2_cache_accesses_from_l1_dc_misses_pti', 'l2_request_g1.dc_all / i', PTI, 'l2_cache'),
    ('l2_cache_accesses_from_l2_hwpf_pti', '(l2_pf_hit_l2.l1_dc_l2_hwpf + l2_pf_miss_l2_hit_l3.l1_dc_l2_hwpf + '
     'l2_pf_miss_l2_l3.l1_dc_l2_hwpf) / i', PTI, 'l2_cache'),
    ('all_l2_cache_misses_pti', '(l2_cache_req_stat.ic_dc_miss_in_l2 + l2_pf_miss_l2_hit_l3.l2_hwpf + l2_pf_miss_l2_l3.l2_hwpf) / i',
     PTI, 'l2_cache'),
    ('l2_cache_misses_from_l1_ic_miss_pti', 'l2_cache_req_stat.ic_fill_miss / i', PTI, 'l2_cache'),
    ('l2_cache_misses_from_l1_dc_miss_pti', 'l2_cache_req_stat.ls_rd_blk_c / i', PTI, 'l2_cache'),
    ('l2_cache_misses_from_l2_hwpf_pti', '(l2_pf_miss_l2_hit_l3.l1_dc_l2_hwpf + l2_pf_miss_l2_l3.l1_dc_l2_hwpf) / i', PTI, 'l2_cache'),
    ('all_l2_cache_hits_pti', '(l2_cache_req_stat.ic_dc_hit_in_l2 + l2_pf_hit_l2.l2_hwpf) / i', PTI, 'l2_cache'),
    ('l2_cache_hits_from_l1_ic_miss_pti', 'l2_cache_req_stat.ic_hit_in_l2 / i', PTI, 'l2_cache'),
    ('l2_cache_hits_from_l1_dc_miss_pti', 'l2_cache_req_stat.dc_hit_in_l2 / i', PTI, 'l2_cache'),
    ('l2_cache_hits_from_l2_hwpf_pti', 'l2_pf_hit_l2.l1_dc_l2_hwpf / i', PTI, 'l2_cache'),
    ('l3_cache_accesses', 'l3_lookup_state.all_coherent_accesses_to_l3', '', 'l3_cache'),
    ('l3_misses', 'l3_lookup_state.l3_miss', '', 'l3_cache'),
    ('l3_read_miss_latency', '(l3_xi_sampled_latency.all * 10) / l3_xi_sampled_latency_requests.all', '1ns', 'l3_cache'),
    ('l3_read_miss_latency_for_local_dram', '(l3_xi_sampled_latency.dram_near * 10) / l3_xi_sampled_latency_requests.dram_near', '1ns',
     'l3_cache'),
    ('l3_read_miss_latency_for_remote_dram', '(l3_xi_sampled_latency.dram_far * 10) / l3_xi_sampled_latency_requests.dram_far', '1ns',
     'l3_cache'),
    ('op_cache_fetch_miss_ratio', 'd_ratio(op_cache_hit_miss.miss, op_cache_hit_miss.all)', '100%', ''),
    ('l1_data_cache_fills_from_memory_pti', 'ls_any_fills_from_sys.dram_io_all / i', PTI, 'l1_dcache'),
    ('l1_data_cache_fills_from_remote_node_pti', 'ls_any_fills_from_sys.far_all / i', PTI, 'l1_dcache'),
    ('l1_data_cache_fills_from_same_ccx_pti', 'ls_any_fills_from_sys.local_all / i', PTI, 'l1_dcache'),
    ('l1_data_cache_fills_from_different_ccx_pti', 'ls_any_fills_from_sys.remote_cache / i', PTI, 'l1_dcache'),
    ('all_l1_data_cache_fills_pti', 'ls_any_fills_from_sys.all / i', PTI, 'l1_dcache'),
    ('l1_demand_data_cache_fills_from_local_l2_pti', 'ls_dmnd_fills_from_sys.local_l2 / i', PTI, 'l1_dcache'),
    ('l1_demand_data_cache_fills_from_same_ccx_pti', 'ls_dmnd_fills_from_sys.local_ccx / i', PTI, 'l1_dcache'),
    ('l1_demand_data_cache_fills_from_near_cache_pti', 'ls_dmnd_fills_from_sys.near_cache / i', PTI, 'l1_dcache'),
    ('l1_demand_data_cache_fills_from_near_memory_pti', 'ls_dmnd_fills_from_sys.dram_io_near / i', PTI, 'l1_dcache'),
    ('l1_demand_data_cache_fills_from_far_cache_pti', 'ls_dmnd_fills_from_sys.far_cache / i', PTI, 'l1_dcache'),
    ('l1_demand_data_cache_fills_from_far_memory_pti', 'ls_dmnd_fills_from_sys.dram_io_far / i', PTI, 'l1_dcache'),
    ('l1_itlb_misses_pti', '(bp_l1_tlb_miss_l2_tlb_hit + bp_l1_tlb_miss_l2_tlb_miss.all) / i', PTI, 'tlb'),
    ('l2_itlb_misses_pti', 'bp_l1_tlb_miss_l2_tlb_miss.all / i', PTI, 'tlb'),
    ('l1_dtlb_misses_pti', 'ls_l1_d_tlb_miss.all / i', PTI, 'tlb'),
    ('l2_dtlb_misses_pti', 'ls_l1_d_tlb_miss.l2_miss_all / i', PTI, 'tlb'),
    ('all_tlbs_flushed_pti', 'ls_tlb_flush.all / i', PTI, 'tlb'),
    ('macro_ops_dispatched', 'de_src_op_disp.all', '', 'decoder'),
    ('sse_avx_stalls', 'fp_disp_faults.sse_avx_all', '', ''),
    ('macro_ops_retired', 'ex_ret_ops', '', ''),
    ('umc_data_bus_utilization', 'd_ratio(umc_data_slot_clks.all / 2, umc_mem_clk)', '100%', 'memory_controller'),
    ('umc_cas_cmd_rate', 'd_ratio(umc_cas_cmd.all * 1000, umc_mem_clk)', '1per_memclk', 'memory_controller'),
    ('umc_cas_cmd_read_ratio', 'd_ratio(umc_cas_cmd.rd, umc_cas_cmd.all)', '100%', 'memory_controller'),
    ('umc_cas_cmd_write_ratio', 'd_ratio(umc_cas_cmd.wr, umc_cas_cmd.all)', '100%', 'memory_controller'),
    ('umc_mem_read_bandwidth', '(umc_cas_cmd.rd * 64) / 1e6 / duration_time', '1MB/s', 'memory_controller'),
    ('umc_mem_write_bandwidth', '(umc_cas_cmd.wr * 64) / 1e6 / duration_time', '1MB/s', 'memory_controller'),
    ('umc_mem_bandwidth', '(umc_cas_cmd.all * 64) / 1e6 / duration_time', '1MB/s', 'memory_controller'),
    ('umc_activate_cmd_rate', 'd_ratio(umc_act_cmd.all * 1000, umc_mem_clk)', '1per_memclk', 'memory_controller'),
    ('umc_precharge_cmd_rate', 'd_ratio(umc_pchg_cmd.all * 1000, umc_mem_clk)', '1per_memclk', 'memory_controller'),
]
