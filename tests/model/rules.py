# SPDX-License-Identifier: BSD-3-Clause
"""The rules of counter groups a second time: by trying every way, and by what Linux would try."""
import functools
import itertools

SLOTS, METRIC, ALONE, OFFCORE, FRONTEND, LDLAT, PAIR, SOFTWARE, UNCORE, EXCLUSIVE = (
    1 << i for i in range(10))
TERMS = {OFFCORE: 'offcore_rsp', FRONTEND: 'frontend', LDLAT: 'ldlat'}


@functools.lru_cache(maxsize=None)
def seats(counters, fixed, pair):
    """The sets of counters that an event may take, as bits: general ones from bit 0, fixed ones from bit 32."""
    if pair:
        return [3 << i for i in range(0, 32, 2) if counters >> i & 1]
    return [1 << i for i in range(32) if counters >> i & 1] + [1 << i + 32 for i in range(16) if fixed >> i & 1]


class Problem:
    """Limits and events as plan_of and sched_of print them."""

    def __init__(self, lines):
        self.event, self.lines, beside = {}, [], []
        for line in lines:
            w = line.split('\t')
            if w[0] == 'limits':
                (self.counters, self.fixed, self.smt, self.reserved, self.taken,
                 self.fixed_taken, self.offcore) = map(int, w[1:])
            elif w[0] == 'event':
                self.event[int(w[1])] = {
                    'name': w[2], 'counters': int(w[3]), 'fixed': int(w[4]), 'flags': int(w[5]),
                    'code': dict((t.split('=') + ['1'])[:2] for t in w[7].split(',')),
                    'pmu': w[6], 'id': int(w[1]), 'modifiers': w[8] if len(w) > 8 else ''}
                self.event[int(w[1])]['encoding'] = self.encoding_of(self.event[int(w[1])])
            elif w[0] == 'beside':
                beside = [int(x) for x in w[1:]]
            else:
                self.lines.append(w)
        self.beside = [e['id'] for e in self.core(beside)]
        self.free = {('g', i) for i in range(self.counters) if not self.taken >> i & 1}
        self.free |= {('f', i) for i in range(self.fixed) if not self.fixed_taken >> i & 1}

    def core(self, ids):
        return [self.event[i] for i in ids if not self.event[i]['flags'] & (SOFTWARE | UNCORE)]

    def encoding(self, event):
        return event['encoding']

    @staticmethod
    def encoding_of(event):
        if event['flags'] & METRIC or event['code'] == {'': '1'}:
            return event['id']
        numbers = {(k, int(v, 0)) for k, v in event['code'].items()}
        return event['pmu'], event['modifiers'], frozenset(x for x in numbers if x[1])

    def counted(self, ids):
        """What takes counters: names of one encoding are one; what counts beside is there, too."""
        events, out = self.core(dict.fromkeys([*self.beside, *ids])), []
        for e in events:
            twin = next((o for o in out if self.encoding(o) == self.encoding(e)
                         and o['counters'] & e['counters'] | o['fixed'] & e['fixed']), None)
            if twin:
                twin['counters'] &= e['counters']
                twin['fixed'] &= e['fixed']
            else:
                out.append(dict(e))
        return out

    def places(self, event, free):
        """The sets of counters that an event may take."""
        if event['flags'] & PAIR:
            return [{('g', i), ('g', i + 1)} for i in range(0, 32, 2)
                    if event['counters'] >> i & 1 and {('g', i), ('g', i + 1)} <= free]
        out = [{('g', i)} for i in range(32) if event['counters'] >> i & 1 and ('g', i) in free]
        return out + [{('f', i)} for i in range(16)
                      if event['fixed'] >> i & 1 and ('f', i) in free]

    def ways(self, events, free, general):
        """Is there any way to seat these, with at most `general` general counters used?"""
        return self.all_ways([seats(e['counters'], e['fixed'], e['flags'] & PAIR) for e in events],
                             sum(1 << i + (32 if kind == 'f' else 0) for kind, i in free), general)

    def all_ways(self, choices, free, general):
        if not choices:
            return True
        # the event with the fewest seats first: only a matter of speed, every seat is tried
        choices = sorted(([s for s in c if s & free == s] for c in choices), key=len)
        for seat in choices[0]:
            used = (seat & 0xffffffff).bit_count()
            if used <= general and self.all_ways(choices[1:], free & ~seat, general - used):
                return True
        return False

    def registers_fit(self, events):
        for flag, term in TERMS.items():
            values = {e['code'][term] for e in events if e['flags'] & flag}
            if len({int(v, 0) for v in values}) > (self.offcore if flag == OFFCORE else 1):
                return False
        return sum(1 for e in events if e['flags'] & ALONE) <= 1

    def fits(self, ids):
        own = self.core(i for i in ids if i not in self.beside)
        events = self.counted(ids)
        if any(e['flags'] & METRIC for e in own) and not any(e['flags'] & SLOTS for e in own):
            return False
        if not self.registers_fit(events):
            return False
        seated = [e for e in events if not e['flags'] & METRIC]
        general = sorted(c for c in self.free if c[0] == 'g')
        most = 99
        if self.smt and any(e['flags'] & EXCLUSIVE for e in events):
            most = max(self.counters // 2, 1) - self.reserved
            if most < 0:
                return False
        lost = min(self.reserved, len(general))
        return all(self.ways(seated, self.free - set(held), most)
                   for held in itertools.combinations(general, lost))

    def linux_seats(self, ids):
        """What x86's scheduler does: the fewest choices first, fixed counters before general ones,
        the lowest number first, and no change of mind. True where all get a seat."""
        used, seated = set(), [e for e in self.counted(ids) if not e['flags'] & METRIC]
        seated.sort(key=lambda e: len(self.places(e, self.free)))
        for e in seated:
            seats = [s for s in self.places(e, self.free) if not s & used]
            seats.sort(key=lambda s: (min(s)[0] == 'g', min(s)[1]))
            if not seats:
                return False
            used |= seats[0]
        return True
