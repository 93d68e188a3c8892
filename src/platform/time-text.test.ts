import { assert } from 'chai'
import { shortTimeText, timeText } from './time-text.ts'

describe('times for people', () => {
  const NOON = new Date('2026-07-01T12:00:30.250Z')
  const TIMES: readonly (readonly [zone: string, text: string])[] = [
    ['UTC', '2026-07-01T12:00:30.250Z'],
    ['Europe/Lisbon', '2026-07-01T12:00:30.250Z (13:00 WEST)'],
    ['Asia/Kolkata', '2026-07-01T12:00:30.250Z (17:30 GMT+5:30)'],
    ['Pacific/Auckland', '2026-07-01T12:00:30.250Z (2026-07-02 00:00 GMT+12)'],
  ]
  for (const [zone, text] of TIMES) {
    it(`shows the time in ${zone} beside UTC`, () => assert.strictEqual(timeText(NOON, zone), text))
  }
  it('shortens times in tables', () => {
    assert.strictEqual(shortTimeText(NOON, 'UTC'), '2026-07-01 12:00:30')
    assert.strictEqual(shortTimeText(NOON, 'Asia/Kolkata'), '2026-07-01 12:00:30 (17:30 GMT+5:30)')
  })
})
