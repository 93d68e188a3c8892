import { assert } from 'chai'
import type { DkimKey, Domain } from '#dashboard/src/api/endpoints.ts'
import { nextStepAt, rotationObstacle, type RotationObstacle } from './key-rotation.ts'

const key = (state: DkimKey['state'], seenAt: string | null = null): DkimKey => ({
  selector: 'ms-1',
  algorithm: 'rsa-sha256',
  state,
  since: '2026-01-01T00:00:00.000Z',
  record_seen_at: seenAt,
})

describe('rotation of DKIM keys', () => {
  const cases: readonly [Domain['status'], DkimKey[], RotationObstacle | null][] = [
    ['verified', [key('active')], null],
    ['degraded', [key('active')], null],
    ['pending', [key('waiting')], 'not-verified'],
    ['failed', [key('active')], 'not-verified'],
    ['verified', [key('active'), key('waiting')], 'in-progress'],
    ['verified', [key('active'), key('retired')], 'recent'],
    ['verified', [key('active'), key('removable')], null],
  ]
  for (const [status, keys, obstacle] of cases)
    it(`${status} with ${keys.map(({ state }) => state).join(' and ')}: ${obstacle ?? 'possible'}`, () =>
      assert.strictEqual(rotationObstacle({ status, dkim_keys: keys }), obstacle))

  it('tells when a key signs, and when a record may go', () => {
    assert.isNull(nextStepAt(key('waiting')))
    assert.strictEqual(nextStepAt(key('waiting', '2026-01-02T00:00:00.000Z')), '2026-01-02T00:10:00.000Z')
    assert.strictEqual(nextStepAt(key('retired')), '2026-01-08T00:00:00.000Z')
    assert.isNull(nextStepAt(key('active')))
  })
})
