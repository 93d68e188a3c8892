import { assert } from 'chai'
import { instantOf, problemOf, readPlan, READERS_ZONE, toScheduleBody, writePlan } from './send-plan.ts'

describe('dashboard: when a campaign is sent', () => {
  const INSTANTS: readonly [string, string, string][] = [
    ['2026-12-01T09:00', 'Europe/Berlin', '2026-12-01T08:00:00.000Z'],
    ['2026-07-01T09:00', 'Europe/Berlin', '2026-07-01T07:00:00.000Z'],
    ['2026-12-01T09:00', 'Asia/Kolkata', '2026-12-01T03:30:00.000Z'],
    ['2026-12-01T00:30', 'Pacific/Kiritimati', '2026-11-30T10:30:00.000Z'],
    ['2026-12-01T09:00', 'UTC', '2026-12-01T09:00:00.000Z'],
  ]
  for (const [at, zone, expected] of INSTANTS)
    it(`${at} in ${zone} is ${expected}`, () => {
      assert.strictEqual(new Date(instantOf(at, zone)).toISOString(), expected)
    })

  it('reads from the address what it wrote there, and ignores what is not a plan', () => {
    const plan = { isLater: true, at: '2026-12-01T09:00', zone: 'Asia/Tokyo', isEachZone: true }
    assert.deepEqual(readPlan(writePlan(plan) as Record<string, string>), plan)
    const read = readPlan({ when: 'never', at: 'tomorrow', zone: 'Mars/Base' })
    assert.deepEqual(read, { isLater: false, at: '', zone: READERS_ZONE, isEachZone: false })
  })

  it('finds a missing and a past time, but not on the clocks of the recipients', () => {
    const now = Date.parse('2026-12-01T08:30:00Z')
    const plan = { isLater: true, at: '2026-12-01T09:00', zone: 'Europe/Berlin', isEachZone: false }
    assert.strictEqual(problemOf(plan, now), 'past-time')
    assert.strictEqual(problemOf({ ...plan, zone: 'Europe/London' }, now), null)
    assert.strictEqual(problemOf({ ...plan, isEachZone: true }, now), null)
    assert.strictEqual(problemOf({ ...plan, at: '' }, now), 'no-time')
    assert.strictEqual(problemOf({ ...plan, at: '', isLater: false }, now), null)
    assert.deepEqual(toScheduleBody(plan, true), {
      scheduled_at: '2026-12-01T09:00:00',
      timezone: 'Europe/Berlin',
      recipient_time: false,
      force: true,
    })
  })
})
