#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes models/*/*/account, the trees of cycle accounting. Run by people, not by the build.

	tools/import_accounts.py REFERENCE [models]

REFERENCE has gooda-trees/ (the report files of Gooda as CSV), perfmon/ and pmu-events/ as
tools/import_models.py wants them. What was left out it says on standard output.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from model_import import account, account_intel, account_other, account_small, amd, arm, intel  # noqa: E402


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    reference, top = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else 'models'
    perfmon, pmu_events = (os.path.join(reference, d) for d in ('perfmon', 'pmu-events'))
    models, made = {}, {}
    for group in (intel.models(perfmon), amd.models(pmu_events), arm.models(pmu_events)):
        models.update((m.id, m) for m in group)
    for group in (account_intel.accounts(reference, models), account_small.accounts(models),
                  account_other.amd(models), account_other.arm(models)):
        made.update((a.model.id, a) for a in group)
    for a in made.values():
        account.write(top, a, made)
        for n in a.notes:
            print('%s: %s' % (a.model.id, n))


if __name__ == '__main__':
    main()
