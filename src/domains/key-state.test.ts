import { assert } from 'chai'
import fc from 'fast-check'
import type { RecordFindingStatus } from './record-finding.ts'
import { type DkimKeyRow, KEY_STATES, type KeyTransition, type KeyState, planKeyTransitions } from './key-state.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const NOW = 1_900_000_000_000

const key = (id: string, state: KeyState, ageMs = 0, seenAgoMs: number | null = null): DkimKeyRow => ({
  id,
  selector: id,
  algorithm: 'rsa-sha256',
  dnsValue: '',
  state,
  sinceMs: NOW - ageMs,
  seenMs: seenAgoMs === null ? null : NOW - seenAgoMs,
  target: null,
})
const delegated = (one: DkimKeyRow): DkimKeyRow => ({ ...one, target: `${one.id}.keys.example` })
const TTL_MS = 15 * MINUTE
const promote: KeyTransition[] = [
  { kind: 'to', id: 'old', from: 'active', to: 'retired' },
  { kind: 'to', id: 'new', from: 'waiting', to: 'active' },
]

type Row = readonly [
  what: string,
  keys: DkimKeyRow[],
  seen: Record<string, RecordFindingStatus>,
  moves: KeyTransition[],
]
const ROWS: readonly Row[] = [
  [
    'the next key waits until its record is in DNS',
    [key('old', 'active'), key('new', 'waiting')],
    { old: 'ok', new: 'missing' },
    [],
  ],
  [
    'the first sight of its record is recorded',
    [key('old', 'active'), key('new', 'waiting')],
    { old: 'ok', new: 'ok' },
    [{ kind: 'saw', id: 'new', at: NOW }],
  ],
  [
    'it waits until its record has been in DNS for 10 minutes',
    [key('old', 'active'), key('new', 'waiting', 0, 9 * MINUTE)],
    { old: 'ok', new: 'ok' },
    [],
  ],
  [
    'then it signs, and the previous key retires',
    [key('old', 'active'), key('new', 'waiting', 0, 10 * MINUTE)],
    { old: 'ok', new: 'ok' },
    promote,
  ],
  [
    'the wait starts again if its record disappears',
    [key('old', 'active'), key('new', 'waiting', 0, 9 * MINUTE)],
    { old: 'ok', new: 'wrong' },
    [{ kind: 'saw', id: 'new', at: null }],
  ],
  [
    'an unanswered query does not restart the wait',
    [key('old', 'active'), key('new', 'waiting', 0, 9 * MINUTE)],
    { old: 'ok', new: 'unknown' },
    [],
  ],
  [
    "it signs at once if the previous key's record is gone",
    [key('old', 'active'), key('new', 'waiting')],
    { old: 'missing', new: 'ok' },
    promote,
  ],
  [
    "but not if DNS did not answer for the previous key's record",
    [key('old', 'active'), key('new', 'waiting')],
    { old: 'unknown', new: 'ok' },
    [{ kind: 'saw', id: 'new', at: NOW }],
  ],
  ['a retired key stays for 7 days', [key('old', 'retired', 7 * DAY - 1)], { old: 'ok' }, []],
  [
    'then its record may be removed',
    [key('old', 'retired', 7 * DAY)],
    { old: 'ok' },
    [{ kind: 'to', id: 'old', from: 'retired', to: 'removable' }],
  ],
  [
    'a retired key of a delegated domain is revoked',
    [delegated(key('old', 'retired', 7 * DAY))],
    { old: 'ok' },
    [{ kind: 'to', id: 'old', from: 'retired', to: 'revoked' }],
  ],
  ['a revoked key is published as such for 30 days', [delegated(key('old', 'revoked', 30 * DAY - 1))], {}, []],
  [
    'and then removed',
    [delegated(key('old', 'revoked', 30 * DAY))],
    {},
    [{ kind: 'delete', id: 'old', from: 'revoked' }],
  ],
  [
    "a key in the operator's zone waits for two TTLs",
    [key('old', 'active'), delegated(key('new', 'waiting', 0, 29 * MINUTE))],
    { old: 'ok', new: 'ok' },
    [],
  ],
  [
    'and then signs',
    [key('old', 'active'), delegated(key('new', 'waiting', 0, 30 * MINUTE))],
    { old: 'ok', new: 'ok' },
    promote,
  ],
  ['a removable key is listed for 30 days', [key('old', 'removable', 30 * DAY - 1)], {}, []],
  ['and then deleted', [key('old', 'removable', 30 * DAY)], {}, [{ kind: 'delete', id: 'old', from: 'removable' }]],
]

describe('the states of DKIM keys', () => {
  for (const [what, keys, seen, moves] of ROWS)
    it(what, () =>
      assert.deepEqual(
        planKeyTransitions(keys, ({ id }) => seen[id] ?? 'unknown', { nowMs: NOW, zoneTtlMs: TTL_MS }),
        moves,
      ),
    )

  it('exactly one key signs at any time, whatever DNS says', () => {
    const step = fc.record({
      afterMs: fc.nat(DAY),
      old: fc.constantFrom<RecordFindingStatus>('ok', 'missing', 'wrong', 'unknown'),
      next: fc.constantFrom<RecordFindingStatus>('ok', 'missing', 'wrong', 'unknown'),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        let keys = [key('old', 'active'), key('new', 'waiting')]
        let now = NOW
        for (const { afterMs, old, next } of steps) {
          now += afterMs
          const moves = planKeyTransitions(keys, ({ id }) => (id === 'old' ? old : next), {
            nowMs: now,
            zoneTtlMs: TTL_MS,
          })
          keys = moves.reduce((all, move) => apply(all, move, now), keys)
          assert.strictEqual(keys.filter(({ state }) => state === 'active').length, 1)
        }
      }),
    )
  })
})

function apply(keys: DkimKeyRow[], move: KeyTransition, now: number): DkimKeyRow[] {
  if (move.kind === 'delete') return keys.filter(({ id }) => id !== move.id)
  const change = move.kind === 'saw' ? { seenMs: move.at } : { state: move.to, sinceMs: now }
  assert.ok(
    move.kind !== 'to' ||
      (move.to in KEY_STATES && keys.some(({ id, state }) => id === move.id && state === move.from)),
  )
  return keys.map((one) => (one.id === move.id ? { ...one, ...change } : one))
}
