import { assert } from 'chai'
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { COUNTER_NAMES, type Counts } from './dimensions.ts'
import { COUNTED_TYPES, countersOf, type EventKind } from './event-kind.ts'
import { createLocalText, divide, type IntervalName } from './intervals.ts'
import { linkName } from './link-name.ts'
import { positionsOf } from './link-report.ts'
import { reportCsv } from './report-csv.ts'
import { type EventGroup, tally } from './tally.ts'

const KIND: EventKind = {
  type: 'email.sent',
  at: new Date('2026-03-29T00:00:00Z'),
  isHard: false,
  isMachine: false,
  isFirst: false,
  isSuppressed: false,
}
const GROUP: EventGroup = {
  workspaceId: '01980000-0000-7000-8000-000000000000',
  events: [KIND],
  class: null,
  tier: 'bulk',
  domain: 'sender.example',
  tags: ['__proto__', 'constructor', ''],
  campaign: null,
  template: null,
  isAttempted: true,
  host: null,
  source: '192.0.2.1',
  isEncrypted: true,
  reply: null,
  recipientDomain: 'receiver.example',
  count: 3,
}

describe('what an event counts for', () => {
  for (const [what, facts, expected] of [
    ['a hard bounce', { type: 'email.bounced', isHard: true }, ['bounced_hard']],
    ['a soft bounce', { type: 'email.bounced' }, ['bounced_soft']],
    ['a suppressed recipient', { type: 'email.failed', isSuppressed: true }, ['suppressed']],
    ['a first open', { type: 'email.opened', isFirst: true }, ['opened', 'opened_unique']],
    ['a later open', { type: 'email.opened' }, ['opened']],
    ['an open by a machine', { type: 'email.opened', isMachine: true, isFirst: true }, ['opened_machine']],
    ['a first click', { type: 'email.clicked', isFirst: true }, ['clicked', 'clicked_unique']],
    ['a type of a later version', { type: 'email.read' }, []],
    ['a type that is a name of Object', { type: 'constructor' }, []],
  ] as const)
    it(what, () => assert.deepEqual(countersOf({ ...KIND, ...facts }), expected))

  it('every counter is reached by a counted type', () => {
    const reached = COUNTED_TYPES.flatMap((type) =>
      [true, false].flatMap((flag) =>
        [true, false].flatMap((isMachine) =>
          countersOf({ ...KIND, type, isHard: flag, isFirst: flag, isSuppressed: flag, isMachine }),
        ),
      ),
    )
    assert.sameMembers([...new Set(reached)], [...COUNTER_NAMES])
  })

  it('names of tags are data, and an empty one is not counted', () => {
    const rows = tally([GROUP, GROUP]).filter(({ dimension }) => dimension === 'tag')
    assert.deepEqual(
      rows.map(({ value, counts }) => [value, counts.sent]),
      [
        ['__proto__', 6],
        ['constructor', 6],
      ],
    )
  })
})

describe('the events of a recipient', () => {
  const minute = (n: number): Date => new Date(KIND.at.getTime() + n * 60_000)
  const rows = tally([
    {
      ...GROUP,
      class: 'policy',
      tags: null,
      events: [
        { ...KIND, type: 'email.queued' },
        { ...KIND, type: 'email.deferred', at: minute(1) },
        { ...KIND, type: 'email.opened', at: minute(1) },
        { ...KIND, type: 'email.opened', at: minute(1) },
      ],
    },
  ])
  const EXPECTED: Readonly<Record<string, readonly [minute: number, counts: Counts][]>> = {
    all: [
      [0, { accepted: 3 }],
      [1, { deferred: 3, opened: 6 }],
    ],
    receiver: [[1, { deferred: 3, opened: 6 }]],
    source: [[1, { deferred: 3, opened: 6 }]],
    class: [[1, { deferred: 3 }]],
    receiver_class: [[1, { deferred: 3 }]],
  }
  for (const [dimension, expected] of Object.entries(EXPECTED))
    it(`count in their minutes by ${dimension}`, () => {
      const found = rows.filter((row) => row.dimension === dimension && row.workspaceId === GROUP.workspaceId)
      assert.deepEqual(
        found.map(({ at, counts }) => [(at.getTime() - KIND.at.getTime()) / 60_000, counts]),
        expected,
      )
    })
})

describe('intervals', () => {
  const localText = createLocalText('Europe/Berlin')
  const startsOf = (from: string, to: string, interval: IntervalName, zone: string): string[] =>
    (divide(new Date(from), new Date(to), interval, zone)?.starts ?? []).map((start) => start.toISOString())

  it('days have 23 or 25 hours at a clock change', () => {
    const spring = startsOf('2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z', 'day', 'Europe/Berlin')
    assert.deepEqual(spring, ['2026-03-27T23:00:00.000Z', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'])
    const autumn = startsOf('2026-10-25T12:00:00Z', '2026-10-26T12:00:00Z', 'day', 'Europe/Berlin')
    assert.deepEqual(autumn, ['2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'])
  })
  it('a local hour that occurs twice is two intervals, and one that is missing none', () => {
    const autumn = startsOf('2026-10-25T00:00:00Z', '2026-10-25T03:00:00Z', 'hour', 'Europe/Berlin')
    assert.deepEqual(
      autumn.map((start) => localText(new Date(start))),
      ['2026-10-25 02:00', '2026-10-25 02:00', '2026-10-25 03:00'],
    )
    const spring = startsOf('2026-03-29T00:00:00Z', '2026-03-29T02:00:00Z', 'hour', 'Europe/Berlin')
    assert.deepEqual(
      spring.map((start) => localText(new Date(start))),
      ['2026-03-29 01:00', '2026-03-29 03:00'],
    )
  })
  it('weeks begin on Monday, months on the first, in zones with half hours too', () => {
    assert.deepEqual(startsOf('2026-02-04T00:00:00Z', '2026-02-09T00:00:00Z', 'week', 'UTC'), [
      '2026-02-02T00:00:00.000Z',
    ])
    assert.deepEqual(startsOf('2026-01-15T00:00:00Z', '2026-02-02T00:00:00Z', 'month', 'Asia/Kolkata'), [
      '2025-12-31T18:30:00.000Z',
      '2026-01-31T18:30:00.000Z',
    ])
  })
  it('are in order and cover the time without gaps in any zone', () => {
    for (const zone of ['America/Sao_Paulo', 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Cairo'])
      for (const interval of ['hour', 'day', 'week', 'month'] as const) {
        const [from, to] = [new Date('2018-10-01T00:00:00Z'), new Date('2018-12-15T00:00:00Z')]
        const division = divide(from, to, interval, zone)
        assert.ok(division !== null)
        const times = [...division.starts, division.end].map((start) => start.getTime())
        assert.deepEqual(
          times,
          [...new Set(times)].toSorted((a, b) => a - b),
          `${interval} in ${zone}`,
        )
        assert.isAtMost(times[0] ?? Infinity, from.getTime())
        assert.isAtLeast(times.at(-1) ?? 0, to.getTime())
      }
  })
  it('are those of the calendar library, also where midnight does not exist', () => {
    const zones = ['UTC', 'America/New_York', 'America/Santiago', 'Africa/Cairo', 'Asia/Beirut', 'Pacific/Auckland']
    const ends = { minute: '2026-09-06T12:00:00Z', hour: '2026-10-30T00:00:00Z', day: '2028-05-01T00:00:00Z' } as const
    for (const zone of [...zones, 'America/St_Johns', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Atlantic/Azores'])
      for (const interval of ['minute', 'hour', 'day', 'week', 'month'] as const) {
        const from = DateTime.fromISO('2026-09-05T13:00:00Z', { zone })
        const to = new Date(ends[interval as keyof typeof ends] ?? ends.day)
        const { starts, end } = divide(from.toJSDate(), to, interval, zone) ?? { starts: [], end: to }
        const localTextIn = createLocalText(zone)
        const made = [...starts, end].map((start) => [start.toISOString(), localTextIn(start)])
        const expected = made.map((_, n) => from.startOf(interval).plus({ [interval]: n }))
        assert.isAbove(made.length, 10)
        assert.deepEqual(
          made,
          expected.map((start) => [start.toUTC().toISO() ?? '', start.toFormat('yyyy-MM-dd HH:mm')]),
          `${interval} in ${zone}`,
        )
      }
  })
  it('have the local time of the calendar library in every zone', () => {
    const times = fc.integer({ min: Date.UTC(1970, 0), max: Date.UTC(2050, 0) })
    fc.assert(
      fc.property(fc.constantFrom(...Intl.supportedValuesOf('timeZone')), times, (zone, ms) => {
        const expected = DateTime.fromMillis(ms, { zone }).toFormat('yyyy-MM-dd HH:mm')
        assert.strictEqual(createLocalText(zone)(new Date(ms)), expected)
      }),
      { numRuns: 5000 },
    )
  })
  it('are not too many', () => {
    assert.isNull(divide(new Date(0), DateTime.utc(2026).toJSDate(), 'day', 'UTC'))
  })
})

describe('names of links', () => {
  for (const [url, name] of [
    ['https://shop.example/a/b?id=1&utm_content=header#top', 'https://shop.example/a/b?utm_content=header'],
    ['https://user:secret@shop.example/', 'https://shop.example/'],
    ['https://shop.example/unsubscribe/anna@b.example/x', 'https://shop.example/unsubscribe/…/x'],
    ['https://shop.example/u/anna%40b.example', 'https://shop.example/u/…'],
    ['https://shop.example/u/anna%2540b.example', 'https://shop.example/u/…'],
    ['https://shop.example/?utm_source=anna%40b.example', 'https://shop.example/'],
    [`https://shop.example/?utm_id=${'x'.repeat(65)}`, 'https://shop.example/'],
    ['HTTPS://Shop.Example', 'https://shop.example/'],
    ['mailto:anna@b.example', null],
    ['javascript:alert(1)', null],
    ['{{link}}', null],
  ] as const)
    it(url.slice(0, 60), () => assert.strictEqual(linkName(url), name))

  it('are never long', () => {
    assert.isAtMost((linkName(`https://shop.example/${'é'.repeat(5000)}`) ?? '').length, 300)
  })
  it('have the position of the first link with that name', () => {
    const html =
      '<a href="https://a.example/?x=1">1</a><a href="{{x}}">2</a><a href="https://b.example">3</a>' +
      '<a href="https://a.example/?x=2">4</a>'
    assert.deepEqual(
      [...positionsOf(html)],
      [
        ['https://a.example/', 1],
        ['https://b.example/', 3],
      ],
    )
  })
})

describe('CSV of statistics', () => {
  it('escapes cells that begin like formulas', () => {
    const rows = ['=1+1', '+1', '-1', '@x', '\tx', 'x', null].map((value) => ({
      at: new Date(0),
      value,
      counts: { sent: 1 },
    }))
    const lines = reportCsv({ rows }, { dimension: 'tag', counters: ['sent'], zone: 'UTC' }).split('\r\n')
    const start = '1970-01-01T00:00:00.000Z,1970-01-01 00:00'
    assert.deepEqual(lines, [
      'start,local,tag,sent',
      ...[`'=1+1`, `'+1`, `'-1`, `'@x`, `'\tx`, 'x', ''].map((cell) => `${start},${cell},1`),
      '',
    ])
  })
})
