#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The script of the HTML report in a browser (web/test/run.mjs). Needs node, chromium and what
`npm ci --ignore-scripts` in web/ installs; without them it is skipped, with the reason."""
import os
import shutil
import sys

web = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'web')


def skip(why):
    print('1..0 # SKIP ' + why)
    sys.exit(0)


node = shutil.which('node') or shutil.which('nodejs')
if not node:
    skip('there is no node')
if not os.path.isdir(os.path.join(web, 'node_modules', 'playwright-core')):
    skip('no packages in web/node_modules: npm ci --ignore-scripts in web/')
os.execv(node, [node, os.path.join(web, 'test', 'run.mjs')])
