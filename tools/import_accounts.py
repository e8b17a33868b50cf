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
from model_import import account, account_intel, intel  # noqa: E402


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    reference, top = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else 'models'
    models = {m.id: m for m in intel.models(os.path.join(reference, 'perfmon'))}
    made = {}
    for a in account_intel.accounts(reference, models):
        made[a.model.id] = a
    for a in made.values():
        account.write(top, a, made)
        for n in a.notes:
            print('%s: %s' % (a.model.id, n))


if __name__ == '__main__':
    main()
