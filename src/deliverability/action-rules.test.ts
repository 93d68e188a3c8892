import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { ACTION_RULES, nextActions } from './action-rules.ts'
import type { Desk, Reason, ReceiverDesk, SourceDesk, SourceProblem, Throttle, Traffic } from './facts.ts'
import { NO_TRAFFIC } from './read-traffic.ts'

const AT = new Date('2031-03-01T12:00:00Z')
const SINCE = new Date('2031-03-01T06:00:00Z')

const traffic = (counts: Partial<Traffic>): Traffic => ({ ...NO_TRAFFIC, ...counts })
const MUCH = traffic({ sent: 5000, delivered: 5000 })

function receiver(title: string, facts: Partial<ReceiverDesk> = {}): ReceiverDesk {
  const none = { domains: [], hours: [], days: [], reasons: [], throttles: [], warmUps: [], sources: [] }
  return { name: title.toLowerCase(), title, day: MUCH, week: MUCH, encrypted: 5000, ...none, ...facts }
}

function source(
  name: string,
  problems: readonly Partial<SourceProblem>[],
  facts: Partial<SourceDesk> = {},
): SourceDesk {
  const full = problems.map((one): SourceProblem => ({
    check: 'PTR',
    status: 'failed',
    detail: 'it has no name',
    todo: 'set one',
    since: SINCE,
    ...one,
  }))
  return { name, address: '192.0.2.1', state: 'active', goneSince: null, day: MUCH, problems: full, ...facts }
}

const reason = (name: string, deferred: number, reply: string | null = null): Reason => ({
  class: name,
  deferred,
  bounced: 0,
  reply,
  since: reply === null ? null : SINCE,
})
const LISTED = { check: 'blocklists', detail: 'zen.spamhaus.org lists it' }
const LISTED_REPLY = '4.7.1 [192.0.2.1] is listed at zen.spamhaus.org'
const complaining = (title: string, complained: number): ReceiverDesk =>
  receiver(title, { week: traffic({ delivered: 10_000, complained }) })
const suspended: Throttle = {
  source: 'out1',
  state: 'suspended',
  connections: null,
  rule: 'google-unusual-rate',
  reply: '4.7.28 unusual rate of unsolicited mail',
  since: SINCE,
  until: new Date('2031-03-01T13:00:00Z'),
}
const warming = (taken: number): ReceiverDesk =>
  receiver('Yahoo', { warmUps: [{ source: 'out2', day: 3, allowance: 200, taken }] })
const dmarc = (own: string | null, failed: number): Desk['dmarc'] => [
  {
    domain: 'shop.example',
    address: '192.0.2.1',
    source: own,
    messages: 1000,
    failed,
    since: SINCE,
    reporter: 'google.com',
  },
]
const sender = (name: string, hard: number): Desk['senders'][number] => ({
  id: name,
  name,
  week: traffic({ delivered: 1000 - hard, bounced_hard: hard }),
})

function desk(facts: Partial<Desk>): Desk {
  const none = { receivers: [], sources: [], senders: [], dmarc: [], certificates: [], notices: [] }
  return { at: AT, isOfWorkspace: false, ...none, ...facts }
}

const REFUSED_FOR_LIST = receiver('Outlook', {
  reasons: [reason('blocked', 40, LISTED_REPLY)],
  sources: [{ name: 'out1', traffic: traffic({ deferred: 40 }) }],
})
const DEFERRING = receiver('GMX', { day: traffic({ delivered: 100, deferred: 90 }), reasons: [reason('busy', 90)] })

/** In the words of a postmaster: the actions, the most urgent first, each as `rule subject`. */
const CASES: readonly [what: string, facts: Partial<Desk>, actions: readonly string[]][] = [
  ['nothing is wrong', { receivers: [receiver('Google')], sources: [source('out1', [])] }, []],
  [
    'a listed source with mail deferred for it outranks a warm-up limit',
    { receivers: [warming(200), REFUSED_FOR_LIST], sources: [source('out1', [LISTED])] },
    ['listed-and-refused out1', 'warm-up-limit out2 at Yahoo'],
  ],
  [
    'a listing that no receiver uses is after a source without PTR',
    { receivers: [receiver('Google')], sources: [source('out1', [LISTED]), source('out2', [{}])] },
    ['no-reverse-name out2', 'listed out1'],
  ],
  [
    'a reply about the list to another source is no evidence for this one',
    { receivers: [{ ...REFUSED_FOR_LIST, sources: [] }], sources: [source('out1', [LISTED])] },
    ['listed out1'],
  ],
  [
    'complaints over 0.3 % outrank those over 0.1 %, wherever there is more mail',
    { receivers: [complaining('Yahoo', 29), complaining('Google', 31)] },
    ['many-complaints Google', 'complaints Yahoo'],
  ],
  ['exactly 0.1 % of complaints is what receivers accept', { receivers: [complaining('Google', 10)] }, []],
  [
    'two complaints of a few messages say nothing',
    { receivers: [receiver('Google', { week: traffic({ delivered: 150, complained: 2 }) })] },
    [],
  ],
  [
    'a suspended receiver comes before its complaints, and each receiver once',
    { receivers: [{ ...complaining('Google', 90), throttles: [suspended] }, complaining('Yahoo', 40)] },
    ['suspended Google', 'many-complaints Yahoo'],
  ],
  [
    'an expired certificate comes first, one that expires soon after TLS failures',
    {
      certificates: [
        { name: 'soon.example', expiresAt: new Date('2031-03-03T12:00:00Z') },
        { name: 'mail.example', expiresAt: new Date('2031-02-28T12:00:00Z') },
      ],
      receivers: [receiver('Example', { reasons: [reason('tls', 4, 'certificate has expired')] })],
    },
    ['certificate-expired mail.example', 'tls-failing Example', 'certificate-expiring soon.example'],
  ],
  [
    'a source of ours that fails DMARC comes before bounces of a workspace',
    { dmarc: dmarc('out1', 100), senders: [sender('acme', 51)] },
    ['dmarc-failing shop.example from 192.0.2.1', 'many-bounces acme'],
  ],
  ['DMARC failures of a few messages are no problem', { dmarc: dmarc('out1', 99) }, []],
  [
    'an unknown address that fails DMARC is less urgent than bounces',
    { dmarc: dmarc(null, 900), senders: [sender('acme', 60)] },
    ['many-bounces acme', 'dmarc-unknown shop.example from 192.0.2.1'],
  ],
  ['5 % of hard bounces is still accepted', { senders: [sender('acme', 50)] }, []],
  [
    'a source without a machine comes before everything',
    { receivers: [REFUSED_FOR_LIST], sources: [source('out2', [], { state: 'gone', goneSince: SINCE })] },
    ['no-source out2'],
  ],
  ['a paused source needs no PTR record', { sources: [source('out1', [{}], { state: 'paused' })] }, []],
  [
    'a receiver that defers a third of its mail comes before one that was slowed down',
    { receivers: [receiver('Orange', { throttles: [{ ...suspended, state: 'slowed', connections: 2 }] }), DEFERRING] },
    ['many-deferrals GMX', 'slowed Orange'],
  ],
  [
    'replies about the sender are counted, those about mailboxes are not',
    {
      receivers: [
        receiver('Outlook', { reasons: [reason('policy', 300, '5.7.1 policy')] }),
        receiver('Yahoo', { reasons: [reason('mailbox-full', 900)] }),
      ],
    },
    ['refused Outlook'],
  ],
  [
    'a receiver of which a fifth is sent without TLS is named last',
    { receivers: [receiver('Old', { encrypted: 4000 }), warming(200)] },
    ['warm-up-limit out2 at Yahoo', 'unencrypted Old'],
  ],
  ['a warm-up below its allowance is as planned', { receivers: [warming(199)] }, []],
]

describe('next actions of the deliverability desk', () => {
  for (const [what, facts, expected] of CASES)
    it(what, () =>
      assert.deepEqual(
        nextActions(desk(facts)).map(({ rule, subject }) => `${rule} ${subject}`),
        expected,
      ),
    )

  it('are at most three, and of one rule the one with the most mail comes first', () => {
    const sources = [10, 40, 20, 30].map((sent) => source(`out${sent}`, [{}], { day: traffic({ sent }) }))
    assert.deepEqual(
      nextActions(desk({ sources })).map(({ subject }) => subject),
      ['out40', 'out30', 'out20'],
    )
  })

  it('have numbers, the words of the receiver, and since when', () => {
    const [action] = nextActions(desk({ receivers: [REFUSED_FOR_LIST], sources: [source('out1', [LISTED])] }))
    assert.deepEqual(
      [action?.evidence.map(({ text }) => text), action?.reply, action?.since],
      [
        ['zen.spamhaus.org lists it', 'sent in 24 hours: 5,000', 'Outlook refused or deferred in 24 hours: 40'],
        LISTED_REPLY,
        SINCE,
      ],
    )
  })

  it('each rule is in the guide, in the order of the table', () => {
    const guide = readFileSync('docs/guides/deliverability.md', 'utf8')
    const rows = Object.entries(ACTION_RULES).map(([name, { when }]) => `| \`${name}\` | ${when} |`)
    assert.include(guide, rows.join('\n'))
  })

  it('each guide exists, with its section', () => {
    for (const { guide } of Object.values(ACTION_RULES)) {
      const [page = '', section = ''] = guide.split('#')
      const text = readFileSync(`docs/guides/${page}.md`, 'utf8')
      const sections = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^a-z0-9 -]/g, '')
          .replaceAll(' ', '-'),
      )
      assert.isTrue(section === '' || sections.includes(section), `${guide}: ${sections.join(' ')}`)
    }
  })
})
