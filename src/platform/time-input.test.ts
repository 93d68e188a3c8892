import { assert } from 'chai'
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { isTimeZone, parseTime } from './time-input.ts'

const RULES: readonly (readonly [rule: string, text: string, zone: string, expected: string | null])[] = [
  ['YYYY-MM-DD_HH:MM:SS', '2031-05-04_10:20:30', 'UTC', '2031-05-04T10:20:30.000Z'],
  ['ISO 8601 with Z', '2031-05-04T10:20:30Z', 'UTC', '2031-05-04T10:20:30.000Z'],
  ['ISO 8601 with milliseconds', '2031-05-04T10:20:30.250Z', 'UTC', '2031-05-04T10:20:30.250Z'],
  ['ISO 8601 in its basic form', '20310504T102030Z', 'UTC', '2031-05-04T10:20:30.000Z'],
  ['without seconds', '2031-05-04T10:20', 'UTC', '2031-05-04T10:20:00.000Z'],
  ['a date alone is its first moment', '2031-05-04', 'Europe/Berlin', '2031-05-03T22:00:00.000Z'],
  [
    'a time without an offset is read in the zone',
    '2031-05-04T10:00:00',
    'America/New_York',
    '2031-05-04T14:00:00.000Z',
  ],
  ['the underscore form too', '2031-05-04_10:00:00', 'Asia/Kolkata', '2031-05-04T04:30:00.000Z'],
  [
    'an offset in the time wins over the zone',
    '2031-05-04T10:00:00+02:00',
    'America/New_York',
    '2031-05-04T08:00:00.000Z',
  ],
  ['also in the underscore form', '2031-05-04_10:00:00+02:00', 'America/New_York', '2031-05-04T08:00:00.000Z'],
  ['also Z', '2031-05-04T10:00:00Z', 'America/New_York', '2031-05-04T10:00:00.000Z'],
  ['in a DST gap: the first instant after it', '2027-03-28T02:30:00', 'Europe/Berlin', '2027-03-28T01:00:00.000Z'],
  ['the first minute of a gap', '2027-03-28T02:00:00', 'Europe/Berlin', '2027-03-28T01:00:00.000Z'],
  ['the last second of a gap', '2027-03-28T02:59:59', 'Europe/Berlin', '2027-03-28T01:00:00.000Z'],
  ['just before a gap', '2027-03-28T01:59:59', 'Europe/Berlin', '2027-03-28T00:59:59.000Z'],
  ['just after a gap', '2027-03-28T03:00:00', 'Europe/Berlin', '2027-03-28T01:00:00.000Z'],
  ['a gap in New York', '2027-03-14T02:15:00', 'America/New_York', '2027-03-14T07:00:00.000Z'],
  ['a gap of half an hour', '2026-10-04T02:10:00', 'Australia/Lord_Howe', '2026-10-03T15:30:00.000Z'],
  ['a gap in the south', '2027-09-26T02:30:00', 'Pacific/Auckland', '2027-09-25T14:00:00.000Z'],
  ['in an overlap: the earlier', '2027-10-31T02:30:00', 'Europe/Berlin', '2027-10-31T00:30:00.000Z'],
  ['an overlap in New York', '2026-11-01T01:30:00', 'America/New_York', '2026-11-01T05:30:00.000Z'],
  ['just after an overlap', '2027-10-31T03:00:00', 'Europe/Berlin', '2027-10-31T02:00:00.000Z'],
  ['the last day of a leap year', '2028-02-29T10:00:00', 'UTC', '2028-02-29T10:00:00.000Z'],
  ['no such day', '2027-02-29T10:00:00', 'UTC', null],
  ['no such hour', '2031-05-04T25:00:00', 'UTC', null],
  ['a year alone', '2031', 'UTC', null],
  ['a number', '1930000000', 'UTC', null],
  ['words', 'tomorrow at noon', 'UTC', null],
  ['another order', '04/05/2031 10:00:00', 'UTC', null],
  ['something after it', '2031-05-04T10:20:30Z and more', 'UTC', null],
  ['nothing', '', 'UTC', null],
]

describe('parseTime', () => {
  for (const [rule, text, zone, expected] of RULES)
    it(`${rule}: ${text} in ${zone}`, () => assert.strictEqual(parseTime(text, zone)?.toISOString() ?? null, expected))

  it('returns the requested local time, or the first instant after a gap', () => {
    const zones = fc.constantFrom(
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'America/St_Johns',
      'Africa/Casablanca',
      'Pacific/Apia',
      'UTC',
    )
    const walls = fc
      .date({ min: new Date('2026-01-01T00:00:00Z'), max: new Date('2029-01-01T00:00:00Z'), noInvalidDate: true })
      .map((at) => at.toISOString().slice(0, 19))
    fc.assert(
      fc.property(walls, zones, (wall, zone) => {
        const instant = parseTime(wall, zone)
        assert.ok(instant !== null)
        const shown = DateTime.fromJSDate(instant, { zone }).toFormat("yyyy-MM-dd'T'HH:mm:ss")
        const isAfterGap =
          shown > wall &&
          DateTime.fromMillis(instant.getTime() - 1, { zone }).offset < DateTime.fromJSDate(instant, { zone }).offset
        assert.ok(shown === wall || isAfterGap, `${wall} in ${zone} became ${shown}`)
      }),
      { numRuns: 2000 },
    )
  })

  it('accepts IANA time zones', () => {
    for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires']) assert.ok(isTimeZone(name), name)
    for (const name of ['', 'Mars/Olympus', 'Europe/Berlin\n', '../../etc/passwd', 'x'.repeat(1000)])
      assert.ok(!isTimeZone(name), name)
  })
})
